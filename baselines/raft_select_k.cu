// RAFT's batched top-k, raft::matrix::select_k (Zhang, Naruse, Li & Wang, "Parallel Top-K
// Algorithms on GPU: A Comprehensive Study and New Methods", SC '23), which cuVS distributes
// compiled as cuvs::selection::select_k. An adapter, compiled with -DKSELECT_RAFT=ON if RAFT is
// found; cuVS includes it.
//
//   raft/auto          RAFT's choice: a decision tree learnt from its authors' runs
//   raft/radix+...     AIR Top-K: radix select with 8 or 11 bits a pass; the last filter is fused
//   or
//                      (+extra) a pass of its own
//   raft/warp+...      warps' bitonic queues: every element enters the queue (immediate), or those
//                      below the bound (filtered), through one buffer for all lanes (distributed),
//                      or that buffer in shared memory (distributed_shared)
//
// RAFT reads the rows as they are and writes values and indices itself. It takes scratch memory
// from our memory resource. In a dry run, which launches nothing, the resource counts the bytes; in
// the real run it returns pieces of the workspace. So nothing is allocated inside the time, and all
// memory is counted. For values alone RAFT still writes indices, into the workspace. RAFT chooses
// block sizes by occupancy and its thresholds. A user can only set `algo`; each value is a variant.
//
// Limits: dense rows; Q, k and, for int32, n below 2^31. Warps' queues hold 256, compare floats and
// are filled with infinities, so they exclude rows with NaN or infinities. The radix selects order
// bits. RAFT before 26 has no dry run: its entries are listed as missing.
//
// Entries: raft/auto, raft/radix, raft/warp

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "kernels/gpu_rows.cuh"

#if KSELECT_HAS_RAFT && __has_include(<raft/core/resource/dry_run_flag.hpp>)
#define KSELECT_RAFT_SELECT_K 1
#include <raft/core/device_mdspan.hpp>
#include <raft/core/resource/cuda_stream.hpp>
#include <raft/core/resource/device_memory_resource.hpp>
#include <raft/core/resource/dry_run_flag.hpp>
#include <raft/core/resources.hpp>
#include <raft/matrix/select_k.cuh>
#endif

namespace kselect::raft_select_k {
namespace {

// raft::matrix::SelectAlgo, which not every build has.
enum class method : std::uint8_t {
  automatic,
  radix_8,
  radix_11,
  radix_11_extra,
  warp_immediate,
  warp_filtered,
  warp_distributed,
  warp_distributed_shared
};

constexpr bool is_radix(method m) {
  return m == method::radix_8 || m == method::radix_11 || m == method::radix_11_extra;
}
constexpr bool is_warp(method m) { return m != method::automatic && !is_radix(m); }

#if defined(KSELECT_RAFT_SELECT_K)

constexpr raft::matrix::SelectAlgo algorithm_of(method m) {
  using raft::matrix::SelectAlgo;
  switch (m) {
    case method::radix_8:
      return SelectAlgo::kRadix8bits;
    case method::radix_11:
      return SelectAlgo::kRadix11bits;
    case method::radix_11_extra:
      return SelectAlgo::kRadix11bitsExtraPass;
    case method::warp_immediate:
      return SelectAlgo::kWarpImmediate;
    case method::warp_filtered:
      return SelectAlgo::kWarpFiltered;
    case method::warp_distributed:
      return SelectAlgo::kWarpDistributed;
    case method::warp_distributed_shared:
      return SelectAlgo::kWarpDistributedShm;
    case method::automatic:
      break;
  }
  return SelectAlgo::kAuto;
}

// ---- RAFT's scratch memory

// Allocates pieces of `memory` one after the other; without memory it only counts. Pieces are not
// reused before the call ends: select_k takes its few arrays at once.
struct arena {
  std::span<std::byte> memory;
  std::size_t used = 0;

  void* take(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    std::byte* piece = reinterpret_cast<std::byte*>(alignment);  // for a dry run: never read
    if (memory.data() != nullptr) {
      if (rounded > memory.size() - used) throw std::bad_alloc();
      piece = memory.data() + used;
    }
    used += rounded;
    return piece;
  }
};

// The arena with the interface of cuda::mr's resources. RAFT copies it, so it is only a pointer.
class arena_resource {
 public:
  explicit arena_resource(arena* from) : from_(from) {}

  void* allocate_sync(std::size_t bytes, std::size_t = 256) { return from_->take(bytes); }
  void deallocate_sync(void*, std::size_t, std::size_t = 256) noexcept {}
  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t = 256) {
    return from_->take(bytes);
  }
  void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t = 256) noexcept {}
  bool operator==(const arena_resource&) const = default;
  friend constexpr void get_property(const arena_resource&, cuda::mr::device_accessible) noexcept {}

 private:
  arena* from_;
};

// A thread's handle to RAFT. It caches properties of the driver, so RAFT's documentation asks to
// keep it from call to call.
struct session {
  raft::resources handle;
  arena scratch;
  cudaStream_t stream = nullptr;

  session() {
    raft::resource::set_cuda_stream(handle, cuda::stream_ref{stream});
    raft::resource::set_workspace_resource(handle,
                                           raft::mr::device_resource{arena_resource{&scratch}},
                                           std::numeric_limits<std::size_t>::max());
  }

  void begin(std::span<std::byte> memory, cudaStream_t on) {
    scratch = {memory, 0};
    if (on == stream) return;
    raft::resource::set_cuda_stream(handle, cuda::stream_ref{on});
    stream = on;
  }
};

session& session_of_thread() {
  thread_local session own;
  return own;
}

// ---- the call

template <class T, class Index>
void select(session& with, const problem& p, const io& buffers, Index* indices, method by) {
  raft::matrix::select_k<T, Index>(
      with.handle,
      raft::make_device_matrix_view<const T, std::int64_t, raft::row_major>(
          static_cast<const T*>(buffers.input), p.q, p.n),
      std::nullopt,
      raft::make_device_matrix_view<T, std::int64_t, raft::row_major>(
          static_cast<T*>(buffers.values), p.q, p.k),
      raft::make_device_matrix_view<Index, std::int64_t, raft::row_major>(indices, p.q, p.k),
      p.direction == direction::smallest, false, algorithm_of(by));
}

// Calls f(T, Index) with the problem's types; for values alone indices are int32, and so is n.
template <class F>
void visit_types(const problem& p, F&& f) {
  visit(p.type, [&]<class T>(T value) {
    visit(p.has_indices() ? p.index : index_type::int32,
          [&]<class Index>(Index index) { f(value, index); });
  });
}

// Room for the unwanted indices of values alone.
simt::global<std::int32_t> unwanted_indices(const problem& p, simt::carver& pieces) {
  return pieces.take<std::int32_t>(p.has_indices() ? 0 : p.q * p.k);
}

// The bytes that RAFT takes in a call.
template <method by>
std::size_t dry_run(const problem& p) {
  session& with = session_of_thread();
  with.begin({}, with.stream);
  raft::resource::set_dry_run_flag(with.handle, true);
  try {
    visit_types(
        p, [&]<class T, class Index>(T, Index) { select<T, Index>(with, p, {}, nullptr, by); });
  } catch (const std::exception&) {
    // The call meets the same error and reports it.
  }
  raft::resource::set_dry_run_flag(with.handle, false);
  return with.scratch.used;
}

template <method by>
status start(const problem& p, const io& buffers, std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const auto unwanted = unwanted_indices(p, pieces);
  session& with = session_of_thread();
  try {
    with.begin(memory.subspan(pieces.used()), static_cast<cudaStream_t>(on.stream));
    visit_types(p, [&]<class T, class Index>(T, Index) {
      auto* indices = static_cast<Index*>(buffers.indices);
      if constexpr (std::is_same_v<Index, std::int32_t>) {
        if (!p.has_indices()) indices = unwanted.data;
      }
      select<T, Index>(with, p, buffers, indices, by);
    });
  } catch (const std::bad_alloc&) {
    return {status_code::failed, "raft::matrix::select_k took more memory than its dry run said"};
  } catch (const std::exception& problem) {
    return {status_code::failed, std::string("raft::matrix::select_k: ") + problem.what()};
  }
  return {};
}

template <method by>
call_plan plan_for(const problem& p, const device&) {
  if (p.effective_pitch() != p.n) {
    return call_plan::refused("rows with a pitch: RAFT takes dense ones");
  }
  simt::carver pieces(nullptr);
  unwanted_indices(p, pieces);
  return call_plan::of<&start<by>>(p, pieces.used() + dry_run<by>(p));
}
constexpr std::string_view missing = {};

#else

template <method>
constexpr decltype(algorithm::plan) plan_for = nullptr;
#if KSELECT_HAS_RAFT
constexpr std::string_view missing = "built with a RAFT that is older than its dry run (RAFT 26)";
#else
constexpr std::string_view missing =
    "built without RAFT: configure with -DKSELECT_RAFT=ON where RAFT 26 (or cuVS, which brings it) "
    "and nvcc are found";
#endif

#endif

template <method by>
constexpr algorithm entry(std::string_view name) {
  algorithm a =
      kernels::gpu_entry(name, "library top-k", "RAFT, matrix::select_k; Zhang et al. 2023");
  a.promises.limits.max_q = std::numeric_limits<int>::max();
  if (is_warp(by)) a.promises.limits.max_k = 256;
  if (!is_radix(by)) {
    a.promises.nan = nan_policy::unsupported;
    a.promises.zeros = zero_policy::merged;
    a.promises.infinities = false;
  }
  a.executors = set_of(executor_kind::cuda);
  a.missing = missing;
  a.plan = plan_for<by>;
  return a;
}

constexpr std::array variants = {
    entry<method::automatic>("raft/auto"),
    entry<method::radix_8>("raft/radix+8"),
    entry<method::radix_11>("raft/radix+11"),
    entry<method::radix_11_extra>("raft/radix+11+extra"),
    entry<method::warp_immediate>("raft/warp+immediate"),
    entry<method::warp_filtered>("raft/warp+filtered"),
    entry<method::warp_distributed>("raft/warp+distributed"),
    entry<method::warp_distributed_shared>("raft/warp+distributed_shared"),
};

}  // namespace
}  // namespace kselect::raft_select_k

namespace kselect::entries {

std::span<const algorithm> raft_select_k() { return raft_select_k::variants; }

}  // namespace kselect::entries
