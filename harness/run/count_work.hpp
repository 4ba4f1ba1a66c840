#pragma once
// Counts the exact work of a kernel. The fiber executor runs it on the rows of the cell.

#include <cstddef>
#include <optional>
#include <span>

#include "harness/plan/plan.hpp"
#include "harness/record/outcome.hpp"

namespace kselect::harness {

// Whether the work of a cell is counted. The algorithm must run on fibers, and the cell must run on
// fibers itself or be small enough to run thread by thread in a moment.
bool counts_work(const cell& c);

// Runs the cell once on fibers, lanes in order, and proves the answer. Empty if the algorithm does
// not support the problem on fibers. Throws error(failure::wrong_answer) if the answer is wrong,
// error(failure::unsupported) with the kernel's message if the run fails.
std::optional<counted_work> count_work(const cell& c, std::span<const std::byte> rows, int threads);

}  // namespace kselect::harness
