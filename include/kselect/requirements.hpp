#pragma once
// What a caller wants of an answer, held against what an algorithm promises.

#include "kselect/contract.hpp"

namespace kselect {

// In the words of contracts; by default nothing beyond the right values.
struct requirements {
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break tie_break = kselect::tie_break::unspecified;
  kselect::determinism determinism = kselect::determinism::not_guaranteed;
};

// Enumerators promise more the later they come.
constexpr bool keeps(const contract& promises, const requirements& wanted) {
  return promises.ordering >= wanted.ordering && promises.tie_break >= wanted.tie_break &&
         promises.determinism >= wanted.determinism;
}

}  // namespace kselect
