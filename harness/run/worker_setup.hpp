#pragma once
// What a worker must know of its sweep: the parent writes it, the worker reads it and has the same
// plan, key by key.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/run/plan.hpp"
#include "harness/run/sweep.hpp"

namespace kselect {

struct worker_setup {
  // The worker's side: parses the line, opens the input, plans. Throws what those throw.
  explicit worker_setup(const std::string& line);

  sweep_config config;
  std::map<executor_kind, memory_ceilings> ceilings;  // measured before, by this sweep
  std::unique_ptr<input_source> input;
  std::unique_ptr<backends> places;
  std::vector<cell> cells;
};

// The parent's side: the line.
std::string setup_line(const sweep_request& request,
                       const std::map<executor_kind, memory_ceilings>& ceilings);

}  // namespace kselect
