#pragma once
// The noise floor of a machine: how far apart two measurements of the same build come out, cell by
// cell. A change below it means nothing, whatever its p value.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/compare/comparison.hpp"

namespace kselect::harness::compare {

// Both as |log ratio|, so that they add to a threshold in the same unit.
struct cell_noise {
  double paired = 0;  // what two sides that take turns may still differ by: the farther end of the
                      // interval of their log-ratio
  double unpaired = 0;  // the largest ratio between two processes of the same build
};

struct noise_floor {
  std::string path;
  json machine;  // the facts of facts_of_machine
  std::map<std::string, cell_noise> cells;
};

// What must be equal for one machine's times to say something about the other's: the processor for
// `cpu` cells; model, driver and modes of the GPU for `cuda` ones.
json facts_of_machine(const recorded_run& run);
// Adds a line to `found` for each member of both objects whose values differ; what only one version
// of the records tells is no difference.
void compare_facts(const json& base, const json& now, std::string_view group,
                   std::vector<std::string>& found);
// The names of the facts that differ, each with both values.
std::vector<std::string> differences(const json& base, const json& now, bool on_cpu, bool on_gpu);

// From two runs of one build that took turns. Throws error(failure::usage) if they did not.
noise_floor noise_of(const comparison& a_against_a);

// The file: {"schema":"kselect-noise/1","machine":{...},"cells":[{"cell":...,"paired":...}]}.
void write_noise(const noise_floor& floor, const std::filesystem::path& path);
// Throws error(failure::input).
noise_floor read_noise(const std::filesystem::path& path);

}  // namespace kselect::harness::compare
