#pragma once
// Runs a cell group: all algorithms on one problem and one executor. Every cell is proven, timed in
// interleaved rounds, and proven again.

#include <span>
#include <vector>

#include "harness/record/outcome.hpp"
#include "harness/run/subjects.hpp"

namespace kselect::harness {

// Follows a group while it runs. A worker process writes running() and resting() to shared memory
// (progress_page). They tell the parent which cell to blame if the worker dies or hangs.
class group_observer {
 public:
  virtual ~group_observer() = default;
  // A run of this cell, or a proof of its answer, begins.
  virtual void running(const cell& c) = 0;
  virtual void resting() = 0;
  virtual void finished(const cell& c, const cell_outcome& outcome) = 0;
  // Whether the group goes on after a cell that failed or was wrong, and so may have damaged this
  // process.
  virtual bool go_on_after_damage() = 0;
};

struct group_request {
  std::span<const cell* const> cells;  // all of one group, each foreseen ok
  const measure_policy& policy;
  const memory_ceilings& ceilings;  // of the backend's memory
};

// Runs every cell and reports its outcome. A cell's failure is its status, not an exception.
// Returns false if it stopped early: the observer refused to go on, or `place` was lost
// (backend::lost) to the last reported cell or to work left behind by an earlier group.
bool run_group(const group_request& request, group_subjects& subjects, backend& place,
               group_observer& observer);

}  // namespace kselect::harness
