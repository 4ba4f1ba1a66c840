#pragma once
// Divides a sweep among machines. Each machine computes by itself which cells are its own.
//
// Cell groups (all algorithms on one problem and executor) stay whole, because their algorithms
// take turns. They are assigned by Graham's rule of the longest processing time first ("Bounds on
// Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17(2), 1969): the longest first, each to
// the shard with the least work so far. That ends within 4/3 of the optimum. Times are predicted
// from problem and policy alone, in whole microseconds, so that all machines agree.
//
// That rule needs the times of all groups at once. Groups of a plan beyond most_listed are assigned
// by a hash of their problem instead, which is fair to many shards only on average.

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/plan/groups.hpp"
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
std::int64_t predicted_us(const std::vector<cell>& group, const measure_policy& policy);

// The cells of one shard in the plan's order, made one after another.
class shard_cells {
 public:
  class iterator {
   public:
    using value_type = cell;
    using difference_type = std::ptrdiff_t;
    explicit iterator(const shard_cells& cells);
    const cell& operator*() const { return current_; }
    const cell* operator->() const { return &current_; }
    iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return ended_; }

   private:
    const shard_cells* cells_;
    std::shared_ptr<cell_source::cursor> cursor_;
    group_numbers groups_;
    cell current_;
    bool ended_ = false;
  };

  iterator begin() const { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  cell front() const { return *begin(); }

 private:
  friend class sharding;
  bool contains(const cell& c, group_numbers& groups) const;

  std::shared_ptr<const cell_source> all_;
  harness::shard which_;
  // The shard of each group, from 0. Empty: the only shard, or one of a plan beyond most_listed.
  std::vector<std::uint32_t> shard_of_;
  std::size_t size_ = 0;
};

// The rough seconds of one run of a cell: one pass over its rows at a usual rate of its executor.
double rough_run_seconds(const cell& c);

// One shard of a sweep, and what identifies the whole sweep.
struct sweep_part {
  harness::shard shard;
  shard_cells cells;
  std::size_t cells_of_all = 0;
  // Of a plan beyond most_listed that is not divided, both are 0: nothing was predicted.
  std::int64_t predicted_us = 0;          // of the shard
  std::int64_t longest_predicted_us = 0;  // of any shard
  // 16 hexadecimal digits: a hash of algorithm, problem and executor of all cells; beyond
  // most_listed, of what determines them. Equal on all machines that planned the same sweep,
  // whatever their hardware.
  std::string plan;
  // The cells of each algorithm and executor, in all shards.
  std::vector<cell_source::algorithm_count> counts;
};

// Goes through the plan once or twice, and not at all if it is beyond most_listed and not divided.
// Throws error(failure::usage) if the shard gets no group.
sweep_part part_of(std::shared_ptr<const cell_source> all, const measure_policy& policy,
                   harness::shard which);
// Of cells that are there, with their keys.
sweep_part part_of(std::vector<cell> cells, const measure_policy& policy, harness::shard which);

// The member "plan" of meta.json.
nlohmann::ordered_json plan_json(const sweep_part& part);

}  // namespace kselect::harness
