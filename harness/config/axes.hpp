#pragma once
// Reading the axes of a sweep, and what an exclusion says about them: the same keys, one value
// each. Split from parse.cpp because ranges, products and repetitions need more care than all the
// other keys together.

#include <vector>

#include "harness/config/config.hpp"
#include "harness/config/node.hpp"

namespace kselect::harness {

// /axes. With a dataset the distribution is `external`, and n and q may be "all".
sweep_axes parse_axes(const node& axes, bool with_dataset);

// One element of /exclude.
exclusion parse_exclusion(const node& where);

}  // namespace kselect::harness
