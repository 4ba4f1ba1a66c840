#pragma once
// The interface between a group, which takes turns and keeps times, and the task that it measures.

#include <span>

#include "harness/harness.hpp"
#include "harness/record/outcome.hpp"
#include "runtime/environment/gpu.hpp"

namespace kselect::harness {

class group_observer;

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

// What the cells of one task measure on one backend. It serves group after group, and keeps what
// the next one may need again.
class group_subjects {
 public:
  virtual ~group_subjects() = default;
  // Makes the cell's input, runs the cell once and proves the answer. The outcome's status says how
  // it ended. Throws error(failure::resources) if the input does not fit.
  virtual void admit(contender& c, const turn_context& context) = 0;
  // A round begins, of these cells. Round 0 begins a group.
  virtual void begin_round(std::span<const contender* const> /*open*/, int /*round*/,
                           const turn_context&) {}
  // Warms up, takes samples and proves the answer. Adds the round to the log, or ends the cell with
  // a status.
  virtual void take_turn(contender& c, int round, const turn_context& context) = 0;
  // Adds to the outcome of a cell with a finished time what follows from it, and says of the time
  // what the task knows better. May end the cell.
  virtual void judge(contender& c, timing& time, const memory_ceilings& ceilings,
                     const turn_context& context) = 0;
  // Frees the inputs: an answer was wrong, and they may be damaged.
  virtual void forget() = 0;
};

}  // namespace kselect::harness
