#pragma once
// What recorded runs tell about the members of `auto`: their times, problem by problem. On a
// processor, where `auto` goes by rules, about all that was measured beside it.

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

// No time: the member does not take the problem, or was not tried.
inline constexpr double untimed = std::numeric_limits<double>::quiet_NaN();

struct timed_problem {
  workload problem;
  std::vector<double> times;  // nanoseconds, one a member, or untimed
  double chosen = untimed;    // of `auto` itself
};

// The GPU of a run, as its meta data has it; of a run without one, the processor.
struct tuned_device {
  std::string name;
  int multiprocessors = 0;
  int compute_capability = 0;
  executor_kind kind = executor_kind::cuda;
};

struct tuning_data {
  tuned_device device;
  std::vector<std::string> members;  // those with a time, in the order first met
  std::vector<timed_problem> problems;
  nlohmann::ordered_json sources;  // of each run: what and when, by which program on which driver
  std::string source;              // the same in one line
};

// The cells of `runs` that ran on their device, ended `ok` and are of `auto` or of what it is held
// against. A cell measured in several runs counts with the geometric mean. Throws
// error(failure::input) if there is none, or if the runs are of different devices.
tuning_data collect(const std::vector<compare::recorded_run>& runs);

// The part that a table is learned from: uniform row-major rows, with indices. Throws
// error(failure::input) for times of a processor, which has no table.
tuning_data typical(const tuning_data& data);

}  // namespace kselect::harness::tune
