#pragma once
// The two things a group does with a cell: prove it first, and give it its turn in a round.

#include "harness/harness.hpp"
#include "harness/run/group.hpp"
#include "runtime/environment/gpu.hpp"

namespace kselect::harness {

// A cell on its way through a group.
struct contender {
  const cell* what = nullptr;
  cell_outcome outcome;
  round_log log;
  bool gapless = false;  // its work can be queued whole behind a gate
  int batch_calls = 0;   // of one batch; 0: no batches
  // A call so long that neither a launch nor a cold cache shows in its time: it needs no warm-up
  // beyond its proof, and on a GPU neither wall time nor batches beside its headline.
  bool is_long = false;
};

// What turns of one group share.
struct turn_context {
  backend& place;
  const measure_policy& policy;
  group_observer& observer;
  const gpu_watch* gpu;  // null on the host
};

// One run on the rows that the problem names, with its proof; work counters and graph capture.
// The outcome's status says how it ended.
void prove_first(contender& c, row_variants& rows, const turn_context& context);

// Warm-up, samples and proof on the rows of this round; adds to the log, or ends the outcome.
void take_turn(contender& c, row_variants& rows, int round, const turn_context& context);

}  // namespace kselect::harness
