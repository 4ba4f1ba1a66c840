#pragma once
// Divides a sweep among machines. Each machine computes by itself which cells are its own.
//
// Cell groups (all algorithms on one problem and executor) stay whole, because their algorithms
// take turns. They are assigned by Graham's rule of the longest processing time first ("Bounds on
// Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969): the longest first, each to
// the shard with the least work so far. That ends within 4/3 of the optimum. Times are predicted
// from problem and policy alone, in whole microseconds, so that all machines agree.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

struct shard {
  int index = 1;  // from 1
  int count = 1;

  bool operator==(const shard&) const = default;
};

inline constexpr int most_shards = 100'000;

// Parses "2/3". Throws error(failure::usage) if the text is no such pair.
shard parse_shard(std::string_view text);

// A rough time of a group in microseconds, only for comparison with other groups. It counts passes
// over the rows: making them, proofs and runs.
std::int64_t predicted_us(const std::vector<const cell*>& group, const measure_policy& policy);

// One shard of a sweep, and what identifies the whole sweep.
struct sweep_part {
  harness::shard shard;
  std::vector<cell> cells;  // the shard's, in the plan's order
  std::size_t cells_of_all = 0;
  std::int64_t predicted_us = 0;          // of the shard
  std::int64_t longest_predicted_us = 0;  // of any shard
  // 16 hexadecimal digits: a hash of algorithm, problem and executor of all cells. Equal on all
  // machines that planned the same sweep, whatever their hardware.
  std::string plan;
};

// Throws error(failure::usage) if the shard gets no group.
sweep_part part_of(std::vector<cell> cells, const measure_policy& policy, harness::shard which);

// The member "plan" of meta.json.
nlohmann::ordered_json plan_json(const sweep_part& part);

}  // namespace kselect::harness
