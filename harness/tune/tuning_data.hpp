#pragma once
// The times of `auto` and its members from recorded runs, problem by problem. On a CPU, where
// `auto` chooses by rules, the times of all entries measured beside it.

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/compare/recorded_run.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness::tune {

// No time: the member does not support the problem, or was not tried.
inline constexpr double untimed = std::numeric_limits<double>::quiet_NaN();

struct timed_problem {
  workload problem;
  std::vector<double> times;  // nanoseconds or untimed, one per member
  double chosen = untimed;    // time of `auto` itself
};

// The GPU of a run, from its meta data. For a run without a GPU, the processor.
struct tuned_device {
  std::string name;
  int multiprocessors = 0;  // of a processor: its threads
  int compute_capability = 0;
  executor_kind kind = executor_kind::cuda;
};

struct tuning_data {
  tuned_device device;
  std::vector<std::string> members;  // those with a time, in order of appearance
  std::vector<timed_problem> problems;
  nlohmann::ordered_json sources;  // per run: which and when, by which program and driver
  std::string source;              // the same as one line
};

// Collects the ok cells on the runs' device of `auto` and its members (processor: of all entries).
// The time of a cell in several runs is their geometric mean. Throws error(failure::input) if there
// is no such cell, or if the runs are of different devices.
tuning_data collect(const std::vector<compare::recorded_run>& runs);

// The problems that a table is learned from: uniform row-major rows, with indices.
tuning_data typical(const tuning_data& data);

}  // namespace kselect::harness::tune
