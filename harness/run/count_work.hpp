#pragma once
// The exact work of a kernel, counted by the fiber executor on the very rows of a cell.

#include <cstddef>
#include <optional>
#include <span>

#include "harness/plan/plan.hpp"
#include "harness/record/outcome.hpp"

namespace kselect::harness {

// Whether a cell's work is counted: its algorithm has a kernel, and the problem is small enough to
// run thread by thread in a moment (or runs on fibers anyway).
bool counts_work(const cell& c);

// One run on fibers, lanes in order, proven; empty where the algorithm supports the problem on a
// GPU but not on fibers. Throws error(failure::wrong_answer) when its answer is wrong, and
// error(failure::unsupported) with the kernel's message when it fails.
std::optional<counted_work> count_work(const cell& c, std::span<const std::byte> rows, int threads);

}  // namespace kselect::harness
