#pragma once
// What a sweep tells its worker (worker.hpp), as JSON. The plan is the parent's: a worker is given
// its input, its policy and, group by group, its cells, and decides nothing itself.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/input.hpp"
#include "harness/plan/plan.hpp"

namespace kselect::harness {

using known_ceilings = std::map<executor_kind, memory_ceilings>;

struct worker_setup {
  input_choice input;
  measure_policy policy;
  known_ceilings ceilings;  // measured before, by this sweep
};

std::string setup_line(const worker_setup& setup);
worker_setup setup_from(const std::string& line);

std::string group_line(std::span<const cell* const> cells);
// Cells without what was foreseen of them: only those that can run are sent.
std::vector<cell> group_from(const std::string& line);

}  // namespace kselect::harness
