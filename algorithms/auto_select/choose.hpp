#pragma once
// Which algorithm the entry `auto` runs on a problem, and why. The same question that
// `kselect explain` answers.

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
  const cost_table* table = nullptr;  // that predicted it
};

// On a GPU the member that takes the problem and has the least predicted time, by the table of the
// device or, for a device without one, of the nearest; else the first of auto's rules that applies
// and whose algorithm takes the problem. Allocates nothing but the reasons of members that do not
// take a problem; a thread's last few choices are kept. The rules are in
// algorithms/auto_select/auto_select.cpp.
choice choose_algorithm(const problem& p, const device& where);

// The same for the form of `auto` that promises what is required: `auto` itself, `auto+sorted` or
// `auto+stable`. These order the member's answers, for which it may be asked for k + 1 elements.
choice choose_algorithm(const problem& p, const device& where, const requirements& wanted);

// The members that take the problem with their predicted times, fastest first; empty where rules
// choose.
struct ranked_member {
  const algorithm* member;
  double predicted_ns;
};
std::vector<ranked_member> rank_members(const problem& p, const device& where);

// The table that predicts for a device: its own, else the one whose multiprocessors are nearest in
// number; null where there is none, or no GPU.
const cost_table* table_for(const device& where);

// The entry of that name if `auto` can choose it, else null.
const algorithm* find_member(std::string_view name);

}  // namespace kselect
