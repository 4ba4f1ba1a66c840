#pragma once
// Measures how fast the host reads the rows of a group, in turns with the group's cells.
//
// No selection is faster than reading its rows. That rate depends on where the rows lie (which
// cache, or memory) and on what the cells in between leave there. So every round reads the rows
// themselves, warmed up or flushed and pinned as for a cell. A round counts with its fastest
// reading, because the rate is a bound. The result is the median of the rounds.

#include <vector>

#include "harness/config/config.hpp"
#include "harness/harness.hpp"
#include "harness/run/trial.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

class reading_rate {
 public:
  // `threads`: how many threads of the backend read.
  explicit reading_rate(int threads) : threads_(threads) {}

  // Measures one round. Warm-ups and evictions follow the policy for cells.
  void take_turn(const input_rows& rows, const measure_policy& policy, backend& place);
  // Bytes a second; 0 if nothing was measured.
  double bytes_per_second() const;

 private:
  int threads_;
  std::vector<double> rounds_;
};

}  // namespace kselect::harness
