#pragma once
// What one call of a selection consists of: the device, the place to run, the buffers, the outcome.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kselect/names.hpp"

namespace kselect {

namespace simt {
struct fiber_options;
}

// Where an algorithm runs. cpu: native host code. fiber: a kernel on the CPU, thread by thread, to
// test that it is correct (never to time it). cuda: a kernel on an NVIDIA GPU.
enum class executor_kind : std::uint8_t { cpu, fiber, cuda };

constexpr auto names_of(executor_kind) {
  return std::to_array<named<executor_kind>>({{executor_kind::cpu, "cpu"},
                                              {executor_kind::fiber, "fiber"},
                                              {executor_kind::cuda, "cuda"}});
}

// What an algorithm may ask about the machine when it makes a plan.
struct device {
  executor_kind kind = executor_kind::cpu;
  std::string name;
  int threads = 1;               // host threads an algorithm may use (cpu, fiber)
  int multiprocessors = 0;       // cuda, fiber
  int resident_threads = 2048;   // cuda, fiber: that one multiprocessor holds at most
  int compute_capability = 0;    // cuda: 90 for 9.0
  std::size_t shared_bytes = 0;  // shared memory one block may opt in to; 0: unknown
  std::size_t memory_bytes = 0;  // total
  std::size_t cache_bytes = 0;   // L2 (cuda) or last-level cache (cpu); 0: unknown
};

// A place to run, as a call sees it.
struct executor {
  const kselect::device* device = nullptr;
  void* stream = nullptr;                      // cuda: a cudaStream_t
  const simt::fiber_options* fiber = nullptr;  // fiber: lane schedule, seed, counters
};

// The buffers of one call. Sizes, types and layout are the problem's.
struct io {
  const void* input = nullptr;  // read only, unless the contract says `modifies_input`
  void* values = nullptr;       // [Q][k] of problem.type; [Q] for payload kth_value; null: indices
  void* indices = nullptr;      // [Q][k] of problem.index; null if the payload has none
  const void* lengths = nullptr;  // [Q] of problem.lengths; null if that is none
  const void* starts = nullptr;   // of problem.starts, as that says; null if that is none
  const void* k_each = nullptr;   // [Q] of problem.k_each; null if that is none
  const void* map = nullptr;      // of problem.map, as that says; null if that is none
  const void* mask = nullptr;     // words of 32 bits, as problem.mask says; null if that is none
};

enum class status_code : std::uint8_t { ok, invalid, unsupported, out_of_memory, failed };

// The outcome of a call, by value. A CUDA fault that only shows at the next synchronisation is
// found by the harness there.
struct status {
  status_code code = status_code::ok;
  std::string message;
  bool ok() const { return code == status_code::ok; }
};

// Yes, or the reason why not: it reaches the results and the plots ("k > 512").
struct support {
  std::string reason;
  explicit operator bool() const { return reason.empty(); }
};
inline support supported() { return {}; }
inline support unsupported(std::string reason) { return {std::move(reason)}; }

}  // namespace kselect
