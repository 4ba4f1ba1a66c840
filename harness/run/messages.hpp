#pragma once
// The parent's messages to its worker (worker.hpp), as JSON. The parent makes the plan. A worker
// gets its input and policy once, then its cells group by group.

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
  known_ceilings ceilings;  // measured earlier in this sweep
  std::string description;  // text of the input's; a worker must open the same
};

std::string setup_line(const worker_setup& setup);
worker_setup setup_from(const std::string& line);

std::string group_line(std::span<const cell* const> cells);
// `foreseen` and `reason` keep their defaults: the parent sends only cells that can run.
std::vector<cell> group_from(const std::string& line);

}  // namespace kselect::harness
