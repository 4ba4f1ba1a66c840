#pragma once
// A recorded run as comparisons and exports read it: one entry per cell, with its round medians.
//
// Cells of two runs are matched by problem, input, algorithm name and executor. Their `key` cannot
// match them: it also hashes the source, so it differs between commits.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/plan/plan.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

// The problem of a cell. `settings` are those that its task adds, as text: "/dimension=128".
struct recorded_problem : workload {
  std::string settings;
  bool operator==(const recorded_problem&) const = default;
};
inline std::string to_string(const recorded_problem& p) {
  return to_string(static_cast<const workload&>(p)) + p.settings;
}

namespace compare {

using json = nlohmann::ordered_json;

// All times in nanoseconds.
struct recorded_time {
  std::string clock;
  double median = 0;
  double low = 0, high = 0;  // 95 % interval of the median
  // The median of each round in the order measured; empty if the round failed. If two runs took
  // turns, rounds at the same position form a pair.
  std::vector<std::optional<double>> rounds;
  std::vector<double> samples;
};

struct recorded_cell {
  std::string identity;  // equal for the same cell in another run
  recorded_problem problem;
  std::string algorithm;
  std::string executor;
  int threads = 0;
  cell_status status = cell_status::error;
  std::string reason;
  bool throttled = false;
  bool pinned = true;  // its threads had processors of their own
  std::optional<recorded_time> time;
  std::map<std::string, std::int64_t> counters;  // exact work, if recorded
  json record;                                   // the complete record
};

struct recorded_run {
  std::string path;  // as the user gave it
  json meta;
  std::vector<recorded_cell> cells;  // in the order recorded, each cell once
  std::vector<std::string> notes;    // warnings about the reading, for readers of the results

  const recorded_cell* find(const std::string& identity) const;
  // Replaces an earlier record of the same cell, unless only the earlier one has a time.
  void add(recorded_cell cell);
  // The value at a path such as {"host", "cpu"} of the meta data; null if there is none.
  json fact(std::initializer_list<const char*> path) const;

 private:
  std::unordered_map<std::string, std::size_t> place_;  // from identity to position in `cells`
};

// Number of rounds made from the samples of a record without rounds.
inline constexpr std::size_t made_rounds = 11;

// The medians of `count` consecutive blocks of samples, of nearly equal length. With fewer samples
// than `count`, each sample is a block.
std::vector<double> block_medians(const std::vector<double>& samples, std::size_t count);

// Reads a run directory or its journal. Of several records of one cell the last ok one counts, or
// the last if none is ok. Throws error(failure::input) if a file is missing or damaged.
recorded_run read_run(const std::filesystem::path& path);

}  // namespace compare
}  // namespace kselect::harness
