#pragma once
// Runs a cell group: all algorithms on one problem and one executor, proven first, then timed in
// interleaved rounds, proven again.

#include <map>
#include <span>
#include <vector>

#include "harness/record/outcome.hpp"
#include "harness/run/row_variants.hpp"

namespace kselect::harness {

// What follows a group as it runs. In a worker process the calls of running() and resting() go to
// a page of shared memory: they tell the parent whom to blame if the process dies or hangs.
class group_observer {
 public:
  virtual ~group_observer() = default;
  // A run of this cell begins, or a proof of its answer.
  virtual void running(const cell& c) = 0;
  virtual void resting() = 0;
  virtual void finished(const cell& c, const cell_outcome& outcome) = 0;
  // After a cell whose algorithm failed or was wrong and may have damaged this process: whether to
  // go on with the others.
  virtual bool go_on_after_damage() = 0;
};

// The rows of a sweep's problems on one executor, for each layout that algorithms read.
class group_inputs {
 public:
  group_inputs(const input_source& source, backend& place) : source_(source), place_(place) {}
  row_variants& of(const workload& p);
  void forget();

 private:
  const input_source& source_;
  backend& place_;
  std::map<layout, row_variants> by_layout_;
};

struct group_request {
  std::span<const cell* const> cells;  // of one group, each foreseen ok
  const measure_policy& policy;
  const memory_ceilings& ceilings;  // of the place
};

// Runs every cell to an outcome. Never throws for what a cell does wrong: that is its status.
// Returns false if it stopped early: because the observer did not want to go on, or because `place`
// was lost (backend::lost), to the cell that ended last or to work left behind by an earlier group.
bool run_group(const group_request& request, group_inputs& inputs, backend& place,
               group_observer& observer);

}  // namespace kselect::harness
