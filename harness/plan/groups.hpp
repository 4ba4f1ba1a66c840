#pragma once
// Cell groups: all algorithms on one problem and one executor. They take turns when they are timed.

#include <vector>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

// Whether two cells belong to one group: one executor, and one problem except for the layout.
bool same_group(const cell& a, const cell& b);

// The cells of each group. Groups are in the order of their first cells. `cells` must be in a
// plan's order.
std::vector<std::vector<const cell*>> grouped(const std::vector<const cell*>& cells);

}  // namespace kselect::harness
