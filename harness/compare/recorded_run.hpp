#pragma once
// A recorded run as comparisons and exports need it: one entry a cell, its time as round medians.
//
// A cell is matched across runs by problem, input, algorithm name and executor. Its `key` is of no
// use there: it hashes the source as well, so that two commits never share one.

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

namespace kselect::harness::compare {

using json = nlohmann::ordered_json;

// All times in nanoseconds.
struct recorded_time {
  std::string clock;
  double median = 0;
  double low = 0, high = 0;  // 95 % interval of the median
  // The median of each round in the order measured; empty where a round failed. Rounds of two runs
  // that took turns belong together by position.
  std::vector<std::optional<double>> rounds;
  std::vector<double> samples;
};

struct recorded_cell {
  std::string identity;  // equal for the same cell of another run
  workload problem;
  std::string algorithm;
  std::string executor;
  int threads = 0;
  cell_status status = cell_status::error;
  std::string reason;
  bool throttled = false;
  std::optional<recorded_time> time;
  std::map<std::string, std::int64_t> counters;  // exact work, if recorded
  json record;                                   // all of it
};

struct recorded_run {
  std::string path;  // as the user gave it
  json meta;
  std::vector<recorded_cell> cells;  // in the order recorded, each cell once
  std::vector<std::string> notes;    // what a reader of results should know about the reading

  const recorded_cell* find(const std::string& identity) const;
  // Takes the place of an earlier record of the same cell, unless only that one has a time.
  void add(recorded_cell cell);
  // The value at a path such as {"host", "cpu"} of the meta data; null where there is none.
  json fact(std::initializer_list<const char*> path) const;

 private:
  std::unordered_map<std::string, std::size_t> place_;  // of an identity among the cells
};

// How many rounds are made of the samples of a record that has none.
inline constexpr std::size_t made_rounds = 11;

// The medians of `count` consecutive blocks of the samples, of nearly equal length, or of single
// samples if there are fewer.
std::vector<double> block_medians(const std::vector<double>& samples, std::size_t count);

// Reads a run directory, or its journal. Of the records of one cell the last ok one counts, else
// the last. Throws error(failure::input) on a missing or damaged file.
recorded_run read_run(const std::filesystem::path& path);

}  // namespace kselect::harness::compare
