#pragma once
// The two things a group does with a cell: prove it first, and give it its turn in a round.

#include "harness/harness.hpp"
#include "harness/run/group.hpp"
#include "runtime/environment/gpu.hpp"

namespace kselect::harness {

// A cell while its group runs.
struct contender {
  const cell* what = nullptr;
  cell_outcome outcome;
  round_log log;
  bool gapless = false;  // all its launches can be queued behind a gate
  int batch_calls = 0;   // in one batch; 0: no batches
  // A call so long that launch overhead and cold caches do not show. Then the proof is warm-up
  // enough, and a GPU takes neither wall times nor batches.
  bool is_long = false;
};

// Shared by the turns of one group.
struct turn_context {
  backend& place;
  const measure_policy& policy;
  group_observer& observer;
  const gpu_watch* gpu;  // null on the host
};

// Runs the cell on variant 0 of the rows and proves the answer. Then captures a graph and counts
// the work. The outcome's status says how it ended.
void prove_first(contender& c, row_variants& rows, const turn_context& context);

// Warms up, takes samples and proves the answer on the rows of this round. Adds the round to the
// log, or ends the cell with a status.
void take_turn(contender& c, row_variants& rows, int round, const turn_context& context);

}  // namespace kselect::harness
