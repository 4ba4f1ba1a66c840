#pragma once
// One sweep over many machines: which cells are whose, decided by every machine for itself.
//
// Cell groups (all algorithms on one problem and executor) stay whole, since their algorithms take
// turns. They are dealt out by Graham's rule of the longest processing time first ("Bounds on
// Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969): longest first, each to the
// shard with the least so far, which ends within 4/3 of the best possible. The lengths come from
// the problem and the policy alone, in whole microseconds, so that all machines agree.

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

// "2/3". Throws error(failure::usage).
shard parse_shard(std::string_view text);

// A guess at the time of a group on any machine of its kind, in microseconds, for comparison with
// other groups alone: rows made, proofs and runs, each a pass over the rows.
std::int64_t predicted_us(const std::vector<const cell*>& group, const measure_policy& policy);

// One shard's part, and what identifies the whole that it is a part of.
struct sweep_part {
  harness::shard shard;
  std::vector<cell> cells;  // the shard's, in the plan's order
  std::size_t cells_of_all = 0;
  std::int64_t predicted_us = 0;          // of the shard
  std::int64_t longest_predicted_us = 0;  // of any shard
  // 16 hexadecimal digits: which algorithm on which problem and executor, over all cells. Equal on
  // all machines that planned the same sweep, whatever their hardware.
  std::string plan;
};

// Throws error(failure::usage) if no group is left for the shard.
sweep_part part_of(std::vector<cell> cells, const measure_policy& policy, harness::shard which);

// The member "plan" of meta.json.
nlohmann::ordered_json plan_json(const sweep_part& part);

}  // namespace kselect::harness
