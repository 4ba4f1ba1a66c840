#pragma once
// Steps that the turns of every task share.

#include <chrono>
#include <new>
#include <string>

#include "harness/run/subjects.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

using turn_clock = std::chrono::steady_clock;

// A call so long that launch overhead and cold caches do not show (contender::is_long).
bool is_long_call(double nanoseconds, const backend& place);

double seconds_since(turn_clock::time_point begin);

void end(contender& c, cell_status how, std::string reason);

// Ends the cell unless the run was ok; `when` begins the reason ("in round 3: ").
bool went_well(contender& c, const status& result, const std::string& when);

// Records the GPU's state after the samples. A round that the driver slowed counts as throttled.
void look_at_gpu(contender& c, const gpu_watch& watch, round_samples& taken);

// How a cell ends that threw. Selections judge their answers without exceptions; the others may
// prove theirs while they run, and find out late that something is not possible.
cell_status status_of(const error& thrown, const contender& c);

// Calls `work` and turns its exceptions into the cell's status.
template <class Work>
void guarded(contender& c, const Work& work) {
  const auto begin = turn_clock::now();
  try {
    work();
  } catch (const error& problem) {
    end(c, status_of(problem, c), problem.what());
  } catch (const std::bad_alloc&) {
    end(c, cell_status::out_of_memory, "the host is out of memory");
  }
  c.outcome.elapsed_s += seconds_since(begin);
}

}  // namespace kselect::harness
