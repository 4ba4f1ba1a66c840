#pragma once
// Which algorithm of a recorded run is fastest, problem by problem. Only cells of one problem and
// one executor are ranked against each other, because only these took turns.

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness {

struct ranked_cell {
  const compare::recorded_cell* cell;
  // The cell's interval overlaps the fastest cell's, so the two share the first place.
  bool first = false;
  std::optional<double> factor;  // time of the baseline over the cell's; above 1: faster
  std::optional<double> share;   // of the measured ceiling of memory (the record's floor)
};

// All cells of one problem, whatever layout they read, on one executor.
struct ranking {
  recorded_problem problem;  // as the first cell has it
  std::string executor;
  std::vector<ranked_cell> timed;                      // fastest first
  std::vector<const compare::recorded_cell*> untimed;  // in the run's order
  const compare::recorded_cell* baseline = nullptr;    // null: none has a time
};

// Problems and executors in the order of their first cells. `baseline` names the algorithm that
// factors are over. If it is empty, each problem has its own: the fastest of the algorithms from
// baselines/. The run must outlive the result. Throws error(failure::usage) if a named baseline is
// in no cell; the message has the nearest names.
std::vector<ranking> rank_cells(const compare::recorded_run& run, const std::string& baseline = {});

// The answer in one sentence for each executor that timed something: which algorithm is fastest, at
// how many of the points, and how many times as fast as the baseline. `baseline` as above.
std::string answer_of(const std::vector<ranking>& rankings, const std::string& baseline = {});

// Half the width of the 95 % interval.
double half_interval(const compare::recorded_time& time);

}  // namespace kselect::harness
