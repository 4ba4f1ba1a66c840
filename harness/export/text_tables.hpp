#pragma once
// Tables of a recorded run for a terminal. Times are medians with half of their 95 % interval; a
// star marks the fastest of a problem, and every other one whose interval overlaps its.

#include <optional>
#include <string>
#include <vector>

#include "harness/export/ranking.hpp"

namespace kselect::harness {

// One block a problem, one line a cell: time, factor over the baseline, share of the ceiling. Cells
// without a time come last, those with the same reason on one line.
std::string cells_table(const std::vector<ranking>& rankings);

// One line a problem, one column an algorithm. Empty if a line is wider than `width` columns, or if
// nothing has a time.
std::optional<std::string> pivot_table(const std::vector<ranking>& rankings, std::size_t width);

// One line a problem: who is fastest, and the factor over the baseline.
std::string winners_table(const std::vector<ranking>& rankings);

// Work counted by the fiber executor: one line a cell, one column a counter that is not zero
// everywhere. Columns beyond `width` are left out and named below. Empty if nothing was counted.
std::string counted_table(const std::vector<ranking>& rankings, std::size_t width);

// "8 cells, 7 ok, 1 unsupported"
std::string counts_text(const compare::recorded_run& run);

}  // namespace kselect::harness
