#pragma once
// Which algorithm the entry `auto` runs on a problem, and why. The same question that
// `kselect explain` answers.

#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect {

struct choice {
  const algorithm* member = nullptr;  // null: no member of `auto` takes the problem
  std::string_view reason;            // "so few rows that ..."
};

// The first of auto's rules that applies to the problem on this device and whose algorithm supports
// it. The rules are in algorithms/auto_select.cpp.
choice choose_algorithm(const problem& p, const device& where);

}  // namespace kselect
