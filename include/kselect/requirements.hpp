#pragma once
// What a caller requires of an answer, and whether a contract keeps it.

#include "kselect/contract.hpp"

namespace kselect {

// The default requires only the right values.
struct requirements {
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break tie_break = kselect::tie_break::unspecified;
  kselect::determinism determinism = kselect::determinism::not_guaranteed;
};

// In each enum, later enumerators promise more.
constexpr bool keeps(const contract& promises, const requirements& wanted) {
  return promises.ordering >= wanted.ordering && promises.tie_break >= wanted.tie_break &&
         promises.determinism >= wanted.determinism;
}

}  // namespace kselect
