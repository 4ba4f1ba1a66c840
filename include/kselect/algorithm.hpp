#pragma once
// The interface of every selection algorithm: plain data, no base class, no registration at start.
//
// A file `algorithms/<stem>.cu` or `baselines/<stem>.{cpp,cu}` defines
//     std::span<const kselect::algorithm> kselect::entries::<stem>();
// and nothing else has to be touched: the build generates the registry from the file list.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kselect/contract.hpp"
#include "kselect/names.hpp"
#include "kselect/problem.hpp"

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

// What an algorithm may ask about the machine when it decides on support, workspace and shape.
struct device {
  executor_kind kind = executor_kind::cpu;
  std::string name;
  int threads = 1;               // host threads an algorithm may use (cpu, fiber)
  int multiprocessors = 0;       // cuda
  int resident_threads = 2048;   // cuda: that one multiprocessor holds at a time, at most
  int compute_capability = 0;    // cuda: 90 for 9.0
  std::size_t shared_bytes = 0;  // shared memory one block may opt in to; 0: unknown
  std::size_t memory_bytes = 0;  // total
  std::size_t cache_bytes = 0;   // L2 (cuda) or last-level cache (cpu); 0: unknown
};

// A place to run, as enqueue sees it.
struct executor {
  const kselect::device* device = nullptr;
  void* stream = nullptr;                      // cuda: a cudaStream_t
  const simt::fiber_options* fiber = nullptr;  // fiber: lane schedule, seed, counters
};

// The buffers of one call. Sizes, types and layout are the problem's.
struct io {
  const void* input = nullptr;  // read only, unless the contract says `modifies_input`
  void* values = nullptr;       // [Q][k] of problem.type; [Q] for payload kth_value
  void* indices = nullptr;      // [Q][k] of problem.index; null unless values_and_indices
};

enum class status_code : std::uint8_t { ok, invalid, unsupported, out_of_memory, failed };

// The outcome of enqueue, by value. A CUDA fault that only shows at the next synchronisation is
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

struct algorithm {
  std::string_view name;    // stable, unique: "cpu/nth_element+omp"
  std::string_view family;  // what plots group by: "sort", "heap", "quick multi-select"
  std::string_view source;  // its origin: "Komarov et al. 2014, Methods, Alg. 1"
  contract promises;
  enum_set<executor_kind> executors;
  enum_set<dtype> dtypes = set_of(dtype::float32);
  enum_set<index_type> index_types = set_of(index_type::int32, index_type::int64);
  enum_set<payload> payloads = set_of(payload::values, payload::values_and_indices);
  enum_set<layout> layouts = set_of(layout::row_major);
  // On a CPU it may use all of device::threads; else it works on the thread that calls it.
  bool threaded = false;
  // Why this build cannot run it at all: an adapter whose library is missing. Empty if it can.
  std::string_view missing = {};

  // Checks that the fields above and the limits cannot express; null: there are none.
  support (*supports)(const problem&, const device&) = nullptr;
  // Bytes of scratch memory enqueue needs, aligned to 256 by the caller; null means none.
  std::size_t (*workspace)(const problem&, const device&) = nullptr;
  // Starts the selection. Never allocates device memory and, unless the contract declares it, never
  // synchronises. Called with 1 <= k <= n and Q >= 1, on a problem it supports.
  status (*enqueue)(const problem&, const io&, std::span<std::byte> workspace,
                    const executor&) = nullptr;
};

// Everything an entry declares, checked against a problem and a place to run.
support check_support(const algorithm&, const problem&, const device&);

}  // namespace kselect
