#pragma once
// Which algorithm the entry `auto` runs on a problem, and why. `kselect explain` prints it.

#include <string_view>
#include <vector>

#include "algorithms/auto_select/cost_table.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/requirements.hpp"

namespace kselect {

struct choice {
  const algorithm* member = nullptr;  // null: no member of `auto` takes the problem
  std::string_view reason;            // "so few rows that ..."
  double predicted_ns = 0;            // 0: chosen by a rule, without a time
  const cost_table* table = nullptr;  // that predicted the time
  call_plan plan = call_plan::refused("no member of auto takes this problem");  // of the call
};

// On a GPU: the member with the least predicted time among those that take the problem, by
// table_for(where), unless a rule stands before the tables. Otherwise: the first of auto's rules
// (auto_select.cpp) that applies and whose algorithm takes the problem. The plan is the member's.
choice choose_algorithm(const problem& p, const device& where);

// The same for the form of `auto` that promises what is required: `auto`, `auto+sorted` or
// `auto+stable`. The last two order the member's answers and may ask it for a few elements
// more; the plan is of both.
choice choose_algorithm(const problem& p, const device& where, const requirements& wanted);

// The members that take the problem with their predicted times, fastest first. Empty if rules
// choose.
struct ranked_member {
  const algorithm* member;
  double predicted_ns;
};
std::vector<ranked_member> rank_members(const problem& p, const device& where);

// The table that predicts for a device: its own, or else the one with the nearest number of
// multiprocessors. Null if there is no table, or if the device is no GPU.
const cost_table* table_for(const device& where);

// The entry of that name if `auto` can choose it, else null.
const algorithm* find_member(std::string_view name);

}  // namespace kselect
