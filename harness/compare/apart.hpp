#pragma once
// Runs that did not take turns, compared without a noise floor: how far two runs of one program may
// differ, and the command that measures in turns. docs/decisions/comparing.md has the records.

#include <string>

#include "harness/compare/comparison.hpp"

namespace kselect::harness::compare {

// Two runs of one program may differ by this factor on `executor`. It is larger if a run began on a
// loaded host. The two runs are the base and the new one, in any order.
double largest_factor_apart(const recorded_run& a, const recorded_run& b,
                            const std::string& executor);

// Whether even the fastest sample of `slower` takes more than `factor` times the median of
// `faster`. The fastest sample counts because other programs can only make a sample slower.
bool clearly_slower(const recorded_time& slower, const recorded_time& faster, double factor);

// The command line of `kselect ab` that measures both programs of `compared` in turns, on the
// inconclusive cells' algorithm if it is one. Where the records do not name a program, the command
// has BASE_PROGRAM and NEW_PROGRAM in its place, or CONFIG.
std::string ab_command(const comparison& compared);

}  // namespace kselect::harness::compare
