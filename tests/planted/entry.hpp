#pragma once
// The shape of every planted entry: a right one's declaration under another name.

#include "kselect/algorithm.hpp"

namespace kselect {

inline algorithm planted(algorithm right, std::string_view name,
                         decltype(algorithm::enqueue) enqueue) {
  right.name = name;
  right.family = "planted";
  right.source = "tests/planted";
  right.enqueue = enqueue;
  return right;
}

}  // namespace kselect
