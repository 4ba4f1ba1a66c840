#pragma once
// The outcome of one cell, with everything that its record says about it.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/harness.hpp"
#include "harness/measure/round_log.hpp"
#include "harness/plan/plan.hpp"
#include "kselect/simt/counters.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/environment/nvml.hpp"

namespace kselect::harness {

// The bytes that must move, relative to the fastest measured rate of memory.
struct floor_share {
  std::int64_t bytes = 0;  // every element read once, every output written once
  // On a GPU "read": a block larger than all caches. On a host "rows_read": the rows themselves, by
  // as many threads as the algorithm may use, in turns with it (reading_rate.hpp).
  const char* ceiling = "";
  double share = 0;  // of that ceiling; may exceed 1, because the ceiling is measured
};

// The GPU's states seen between rounds.
struct gpu_span {
  std::uint64_t event_reasons = 0;  // union of all seen (nvml.hpp)
  std::optional<int> coolest_c, hottest_c;
  std::optional<double> most_power_w;
  void add(const gpu_state& seen);
};

// The exact work of a kernel, counted by the fiber executor.
struct counted_work {
  simt::counters counters;
  simt::places places;  // the counters that the kernel counted by place
};

// A named part of the time of a cell's runs: the median of each round, in ns.
struct stage_log {
  std::string name;
  bool of_time = true;  // false: it was done beside the work that the time is of
  std::vector<double> rounds_ns;
};

struct cell_outcome {
  cell_status status = cell_status::ok;
  std::string reason;          // one line unless ok
  std::optional<timing> time;  // if ok and not empty
  std::size_t workspace_bytes = 0;
  // The certificate held before the first timed run, after the last, and for this many answers.
  bool proven_before = false, proven_after = false;
  std::int64_t answers_proven = 0;
  std::int64_t proven_in_place = 0;    // of these, by kernels of the backend
  std::optional<counted_work> work;    // counted on the problem's rows by the fiber executor
  std::optional<graph_capture> graph;  // cuda
  std::optional<floor_share> floor;    // if timed and the ceilings are known
  bool throttled = false;              // in some round
  std::optional<gpu_span> gpu;         // cuda
  int input_copies = 0;
  bool fresh_inputs = false;                           // other rows in each round
  std::optional<stage_times> distances, rows_to_host;  // row_variants
  // Of a task that was added: its stages, what it counted in one run, and how it proves answers.
  std::vector<stage_log> stages;
  std::vector<std::pair<std::string, double>> counts;
  std::string proof;
  bool pinned = false;  // cpu: each thread was kept on its own processor
  std::chrono::system_clock::time_point started{};
  double elapsed_s = 0;  // the whole cell, with proofs and warm-up
};

}  // namespace kselect::harness
