#pragma once
// How one cell ended, with all that its record says about it.

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

// The bytes that must move, against the fastest that memory was seen to move them.
struct floor_share {
  std::int64_t bytes = 0;  // every element read once, every output written once
  // On a GPU "read": of a block that no cache holds. On a host "rows_read": of the rows themselves,
  // by as many threads as the algorithm may use, in turns with it (reading_rate.hpp).
  const char* ceiling = "";
  double share = 0;  // of that ceiling; above 1 is only possible for a measured one
};

// What was seen of the GPU between rounds.
struct gpu_span {
  std::uint64_t event_reasons = 0;  // all that were seen (nvml.hpp)
  std::optional<int> coolest_c, hottest_c;
  std::optional<double> most_power_w;
  void add(const gpu_state& seen);
};

// The exact work of a kernel, counted by the fiber executor.
struct counted_work {
  simt::counters counters;
  simt::places places;  // what the kernel told apart by place
};

struct cell_outcome {
  cell_status status = cell_status::ok;
  std::string reason;          // one line unless ok
  std::optional<timing> time;  // if ok, and there was something to time
  std::size_t workspace_bytes = 0;
  // The certificate held before the first timed run; after the last; for so many answers in all.
  bool proven_before = false, proven_after = false;
  std::int64_t answers_proven = 0;
  std::int64_t proven_in_place = 0;    // of these, by kernels where the rows lie
  std::optional<counted_work> work;    // on the problem's rows, from the fiber executor
  std::optional<graph_capture> graph;  // cuda
  std::optional<floor_share> floor;    // if timed and the ceilings are known
  bool throttled = false;              // in some round
  std::optional<gpu_span> gpu;         // cuda
  int input_copies = 0;
  bool fresh_inputs = false;                           // other rows in each round
  std::optional<stage_times> distances, rows_to_host;  // row_variants
  bool pinned = false;  // cpu: its threads were kept on processors of their own
  std::chrono::system_clock::time_point started{};
  double elapsed_s = 0;  // of the cell, with proofs and warm-up
};

}  // namespace kselect::harness
