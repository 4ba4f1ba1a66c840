#pragma once
// How long a sweep will take, before it runs: an estimate for `kselect run --dry-run`.
//
// A cell's runs take what a cost table predicts, if one knows the algorithm, else the time of one
// pass over the rows at a rough rate. The policy says how many runs there are: at least those of
// `rounds` turns, at most `max_samples` runs or `max_seconds`. Proofs and the making of rows are
// added at rough rates.

#include <string>
#include <vector>

#include "harness/plan/shard.hpp"

namespace kselect::harness::tune {

struct sweep_time {
  double least_s = 0, most_s = 0;  // if every cell stops as early, or as late, as it may
  std::size_t cells = 0;           // that will run
  std::size_t by_table = 0;        // of these, predicted by a cost table
};

// `cells` in a plan's order.
sweep_time estimate_time(const shard_cells& cells, const measure_policy& policy, backends& places);

}  // namespace kselect::harness::tune
