#pragma once
// Reads the axes of a sweep, and exclusions, which have the same keys with one value each. Separate
// from parse.cpp, because ranges, products and repetitions need more code than all other keys.

#include <vector>

#include "harness/config/config.hpp"
#include "harness/config/node.hpp"

namespace kselect::harness {

// Reads /axes. Unless the rows are generated, the distribution is `external`, and n and q may be
// "all". A task that was added has no types, layouts and so on, but axes of its own.
sweep_axes parse_axes(const node& axes, rows_origin from, const task* of = nullptr);

// Reads the values of the axes that a task has of its own. own_axes.cpp
std::vector<axis_values> parse_own_axes(const node& axes, const task& of);

// Reads one element of /exclude.
exclusion parse_exclusion(const node& where);

}  // namespace kselect::harness
