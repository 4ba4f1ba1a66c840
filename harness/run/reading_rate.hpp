#pragma once
// How fast a host reads the rows of a group, measured in turns with its cells.
//
// What a selection cannot beat depends on where its rows lie, in which cache or in memory, and on
// what the cells between leave of them there. So the rows themselves are read in every round, after
// as many warm-ups as a cell has, or from flushed caches, on threads that are pinned alike. The
// fastest reading of a round is its rate, as it is a bound that is sought; the median of rounds is
// what medians of cells are held against.

#include <vector>

#include "harness/config/config.hpp"
#include "harness/harness.hpp"
#include "harness/run/trial.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

class reading_rate {
 public:
  // On so many of the place's threads.
  explicit reading_rate(int threads) : threads_(threads) {}

  // Reads the rows of a round, after warm-ups or an eviction, as the policy has it for cells.
  void take_turn(const input_rows& rows, const measure_policy& policy, backend& place);
  // Bytes a second; 0 where nothing was measured.
  double bytes_per_second() const;

 private:
  int threads_;
  std::vector<double> rounds_;
};

}  // namespace kselect::harness
