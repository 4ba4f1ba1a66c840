#pragma once
// The noise floor of a machine: how much two measurements of the same build differ, cell by cell. A
// smaller change means nothing, whatever its p value.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/compare/comparison.hpp"

namespace kselect::harness::compare {

// Both are |log ratio|, the unit of the comparison's threshold.
struct cell_noise {
  double paired = 0;  // what two sides that take turns may still differ by: the farther end of the
                      // interval of their log-ratio
  double unpaired = 0;  // the largest ratio between two processes of the same build
};

struct noise_floor {
  std::string path;
  json machine;  // see facts_of_machine
  std::map<std::string, cell_noise> cells;
};

// The facts that must be equal for times of two machines to be comparable: the processor for `cpu`
// cells; model, driver and modes of the GPU for `cuda` cells.
json facts_of_machine(const recorded_run& run);
// Adds a line to `found` for each member of both objects whose values differ. A member that only
// one version of the records has is no difference.
void compare_facts(const json& base, const json& now, std::string_view group,
                   std::vector<std::string>& found);
// One line per fact that differs, with both values.
std::vector<std::string> differences(const json& base, const json& now, bool on_cpu, bool on_gpu);

// Needs two runs of one build that took turns. Throws error(failure::usage) if they did not.
noise_floor noise_of(const comparison& a_against_a);

// Writes {"schema":"kselect-noise/1","machine":{...},"cells":[{"cell":...,"paired":...}]}.
void write_noise(const noise_floor& floor, const std::filesystem::path& path);
// Throws error(failure::input) if the file cannot be read or is no noise file.
noise_floor read_noise(const std::filesystem::path& path);

}  // namespace kselect::harness::compare
