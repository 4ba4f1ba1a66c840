// CUB's own top-k, if the build's CCCL has it (the toolkit's, or KSELECT_CCCL's).
//
//   cub-topk          cub::DeviceTopK (CCCL 3.2): one problem a call, a call a row
//   cub-batched-topk  cub::DeviceBatchedTopK (CCCL 3.5): all rows in one call
//
// Both are adaptive radix selections. They read the rows as they are and write values and indices
// themselves. So the time has nothing of ours except, for the first, a launch loop over the rows.
// Answers are unsorted, ties unspecified, results not deterministic: CUB compiles only if exactly
// these are requested. The workspace is that of CUB's own query. Tuning is CUB's own, by what it is
// told: 32-bit sizes and, for the batched form, the tightest bound of n for which it has a block
// (segment_bound). If n equals a block's number of items, the size is a constant and loads need no
// guard.
//
// Limits: the batched form of CCCL 3.5 takes rows that fit one block (fits_a_block), and fewer than
// 2^31 of them. In it -0 and +0 tie, in the other form not. Before CCCL 3.5, DeviceTopK loads
// vectors even if the row is not aligned to them.
//
// Entries: cub-topk, cub-batched-topk

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/gpu_rows.cuh"

// Tests compile the adapter on the host, against stand-ins (tests/baselines/standins).
#if defined(__CUDACC__) || defined(KSELECT_CUB_STANDIN)
#include <cuda/std/version>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#if __has_include(<cub/device/device_topk.cuh>) && CCCL_VERSION >= 3002000
#define KSELECT_CUB_TOPK 1
#include <cub/device/device_topk.cuh>
#endif
#if __has_include(<cub/device/device_batched_topk.cuh>) && CCCL_VERSION >= 3005000
#define KSELECT_CUB_BATCHED_TOPK 1
#include <cub/device/device_batched_topk.cuh>
#endif
#endif

namespace kselect::cub_topk {
namespace {

// CCCL 3.5 gives a segment one block, which exchanges values and then positions through at most 48
// KiB of shared memory. 32 KiB of the wider of the two fit, with padding; twice as many do not.
constexpr std::int64_t longest_segment(std::size_t widest_bytes) {
  return static_cast<std::int64_t>(32768 / widest_bytes);
}

#if defined(KSELECT_CUB_TOPK) || defined(KSELECT_CUB_BATCHED_TOPK)

auto requirements(cudaStream_t stream) {
  namespace execution = ::cuda::execution;
#if defined(KSELECT_CUB_BATCHED_TOPK)
  const auto wanted =
      execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                         execution::output_ordering::unsorted);
#else
  const auto wanted = execution::require(execution::determinism::not_guaranteed,
                                         execution::output_ordering::unsorted);
#endif
  return ::cuda::std::execution::env{::cuda::stream_ref{stream}, wanted};
}

#endif

#if defined(KSELECT_CUB_TOPK)

// Selects from one row. If `temporary` is null, only sets `bytes` to the size that it needs.
// `indices` null: values alone.
template <class T, class Index>
cudaError_t select_row(void* temporary, std::size_t& bytes, const problem& p, const T* row,
                       T* values, Index* indices, cudaStream_t stream) {
  const thrust::counting_iterator<Index> positions(0);
  const auto environment = requirements(stream);
  // CUB counts in the type of the sizes; with 64 bits its candidates would take twice the memory.
  const auto n = static_cast<std::uint32_t>(p.n), k = static_cast<std::uint32_t>(p.k);
  const bool smallest = p.direction == direction::smallest;
  if (indices == nullptr) {
    return smallest ? cub::DeviceTopK::MinKeys(temporary, bytes, row, values, n, k, environment)
                    : cub::DeviceTopK::MaxKeys(temporary, bytes, row, values, n, k, environment);
  }
  return smallest ? cub::DeviceTopK::MinPairs(temporary, bytes, row, values, positions, indices, n,
                                              k, environment)
                  : cub::DeviceTopK::MaxPairs(temporary, bytes, row, values, positions, indices, n,
                                              k, environment);
}

status start_rows(const problem& p, const io& buffers, std::span<std::byte> memory,
                  const executor& on) {
  return visit(p.type, [&]<class T>(T) {
    return visit(p.index, [&]<class Index>(Index) {
      status done;
      for (std::int64_t row = 0; done.ok() && row < p.q; ++row) {
        auto* const indices = static_cast<Index*>(buffers.indices);
        std::size_t bytes = memory.size();
        done = simt::detail::cuda_status(
            select_row<T, Index>(memory.data(), bytes, p,
                                 static_cast<const T*>(buffers.input) + p.offset(row, 0),
                                 static_cast<T*>(buffers.values) + row * p.k,
                                 indices == nullptr ? nullptr : indices + row * p.k,
                                 static_cast<cudaStream_t>(on.stream)),
            "DeviceTopK", "cub");
      }
      return done;
    });
  });
}

call_plan row_plan(const problem& p, const device&) {
  std::size_t bytes = 0;
  visit(p.type, [&]<class T>(T) {
    visit(p.index, [&]<class Index>(Index) {
      Index some{};  // only tested for null
      select_row<T, Index>(nullptr, bytes, p, nullptr, nullptr, p.has_indices() ? &some : nullptr,
                           nullptr);
    });
  });
  return call_plan::of<&start_rows>(p, bytes);
}
constexpr std::string_view row_missing = {};

#else

constexpr decltype(algorithm::plan) row_plan = nullptr;
constexpr std::string_view row_missing =
    "built without cub::DeviceTopK: it needs nvcc and CCCL 3.2 (CUDA 13.2) or newer; an older "
    "toolkit's is replaced by -DKSELECT_CCCL=DIR";

#endif

#if defined(KSELECT_CUB_BATCHED_TOPK)

// The least number of elements of a CUB block that is not below n.
constexpr std::int32_t segment_bound(std::int64_t n) {
  std::int32_t bound = 256;
  while (bound < n) bound = bound == 256 ? 1024 : 2 * bound;
  return bound;
}

template <class T, class Index>
constexpr std::size_t widest = std::max(sizeof(T), sizeof(Index));
template <class T>
constexpr std::size_t widest<T, void> = sizeof(T);

// Where row number `row` of a matrix begins.
template <class T>
struct row_start {
  T* data;
  std::int64_t pitch;
  KSELECT_HD T* operator()(std::int64_t row) const { return data + row * pitch; }
};
template <class T>
auto rows_from(T* data, std::int64_t pitch) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                         row_start<T>{data, pitch});
}
// Every row has the same positions.
template <class Index>
struct same_positions {
  KSELECT_HD thrust::counting_iterator<Index> operator()(std::int64_t) const {
    return thrust::counting_iterator<Index>(0);
  }
};

// Selects from all rows. `size`: CUB's annotated argument, which bounds n at compile time.
template <std::int32_t bound, class T, class Index, class Size>
cudaError_t select_sized(void* temporary, std::size_t& bytes, const problem& p, const io& buffers,
                         Size size, cudaStream_t stream) {
  namespace argument = ::cuda::args;
  const auto rows = rows_from(static_cast<const T*>(buffers.input), p.effective_pitch());
  const auto values = rows_from(static_cast<T*>(buffers.values), p.k);
  const auto k = argument::immediate{static_cast<std::int32_t>(p.k),
                                     argument::bounds<std::int32_t{1}, bound>()};
  const auto count = argument::immediate{static_cast<std::int32_t>(p.q)};
  const auto environment = requirements(stream);
  const bool smallest = p.direction == direction::smallest;
  if constexpr (std::is_void_v<Index>) {
    return smallest ? cub::DeviceBatchedTopK::MinKeys(temporary, bytes, rows, values, size, k,
                                                      count, environment)
                    : cub::DeviceBatchedTopK::MaxKeys(temporary, bytes, rows, values, size, k,
                                                      count, environment);
  } else {
    const auto indices = rows_from(static_cast<Index*>(buffers.indices), p.k);
    const auto positions = thrust::make_transform_iterator(
        thrust::counting_iterator<std::int64_t>(0), same_positions<Index>{});
    return smallest ? cub::DeviceBatchedTopK::MinPairs(temporary, bytes, rows, values, positions,
                                                       indices, size, k, count, environment)
                    : cub::DeviceBatchedTopK::MaxPairs(temporary, bytes, rows, values, positions,
                                                       indices, size, k, count, environment);
  }
}

// Chooses the first bound that covers n, from `bound` on.
template <class T, class Index, std::int32_t bound = segment_bound(0)>
cudaError_t select_rows(void* temporary, std::size_t& bytes, const problem& p, const io& buffers,
                        cudaStream_t stream) {
  namespace argument = ::cuda::args;
  if constexpr (bound < longest_segment(widest<T, Index>)) {
    if (p.n > bound) {
      return select_rows<T, Index, segment_bound(bound + 1)>(temporary, bytes, p, buffers, stream);
    }
  }
  if (p.n == bound) {
    return select_sized<bound, T, Index>(temporary, bytes, p, buffers, argument::constant<bound>{},
                                         stream);
  }
  return select_sized<bound, T, Index>(
      temporary, bytes, p, buffers,
      argument::immediate{static_cast<std::int32_t>(p.n),
                          argument::bounds<std::int32_t{1}, bound>()},
      stream);
}

// Calls f with the types of the values and of the indices, which are void for values alone.
template <class F>
cudaError_t visit_columns(const problem& p, F&& f) {
  return visit(p.type, [&]<class T>(T) {
    if (!p.has_indices()) return f.template operator()<T, void>();
    return visit(p.index, [&]<class Index>(Index) { return f.template operator()<T, Index>(); });
  });
}

status start_batch(const problem& p, const io& buffers, std::span<std::byte> memory,
                   const executor& on) {
  const cudaError_t done = visit_columns(p, [&]<class T, class Index>() {
    std::size_t bytes = memory.size();
    return select_rows<T, Index>(memory.data(), bytes, p, buffers,
                                 static_cast<cudaStream_t>(on.stream));
  });
  return simt::detail::cuda_status(done, "DeviceBatchedTopK", "cub");
}

call_plan batched_plan(const problem& p, const device&) {
  const std::size_t index_bytes = p.has_indices() ? size_of(p.index) : 0;
  const std::int64_t longest = longest_segment(std::max(size_of(p.type), index_bytes));
  if (p.n > longest) {
    return call_plan::refused("n > " + std::to_string(longest) + ": CUB gives a segment one block");
  }
  std::size_t bytes = 0;
  visit_columns(p, [&]<class T, class Index>() {
    return select_rows<T, Index>(nullptr, bytes, p, {}, nullptr);
  });
  return call_plan::of<&start_batch>(p, bytes);
}
constexpr std::string_view batched_missing = {};

#else

constexpr decltype(algorithm::plan) batched_plan = nullptr;
constexpr std::string_view batched_missing =
    "built without cub::DeviceBatchedTopK: it needs nvcc and CCCL 3.5 (CUDA 13.5) or newer; an "
    "older toolkit's is replaced by -DKSELECT_CCCL=DIR";

#endif

constexpr algorithm entry(std::string_view name, std::string_view source,
                          std::string_view missing) {
  algorithm a = kernels::gpu_entry(name, "library top-k", source);
  a.executors = set_of(executor_kind::cuda);
  a.missing = missing;
  return a;
}
constexpr algorithm row_entry() {
  algorithm a = entry("cub-topk", "CUB DeviceTopK", row_missing);
#if defined(KSELECT_CUB_TOPK) && CCCL_VERSION < 3005000
  a.promises.limits.alignment = 16;
#endif
  a.plan = row_plan;
  return a;
}
constexpr algorithm batched_entry() {
  algorithm a = entry("cub-batched-topk", "CUB DeviceBatchedTopK", batched_missing);
  a.promises.limits.max_q = std::numeric_limits<std::int32_t>::max();
  a.promises.zeros = zero_policy::merged;
  a.plan = batched_plan;
  return a;
}

constexpr std::array variants = {row_entry(), batched_entry()};

}  // namespace
}  // namespace kselect::cub_topk

namespace kselect::entries {

std::span<const algorithm> cub_topk() { return cub_topk::variants; }

}  // namespace kselect::entries
