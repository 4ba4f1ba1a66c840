// Full sorts on the GPU: sort whole rows, keep the first k. Every selection must beat these.
//
//   thrust-sort           thrust::stable_sort_by_key, a call a row
//                         (Komarov et al. 2014, Related work)
//   clustered-sort        all rows in one sort keyed by (row, value): Pan & Manocha,
//                         "Fast GPU-based Locality Sensitive Hashing for k-Nearest
//                         Neighbor Computation", 2011 (Tang et al. 2015, Sec. II-C);
//                         float32, as row and value share one 64-bit key
//   cub-segmented-radix   cub::DeviceSegmentedRadixSort, a segment a row
//   cub-segmented-sort    cub::DeviceSegmentedSort::StableSort..., which chooses its kernel by the
//                         segments' lengths
//
// Cost: about one read and one write of every key and position for each 8 bits of the key, for any
// k.
//
// The libraries sort selection keys (order.hpp), unsigned integers, with positions if wanted. One
// kernel makes both and one writes the first k of each row: two passes of about ten. Rows are
// sorted in chunks of up to 2^28 elements, which bounds the workspace (two arrays of keys and two
// of positions) and slows no sort. All sorts are stable, so ties come by ascending index. Tuning is
// the libraries' own.
//
// Entries: thrust-sort, clustered-sort, cub-segmented-radix, cub-segmented-sort

#include <array>

#include "baselines/gpu_full_sort/library.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::gpu_full_sort {

#if !defined(__CUDACC__)

template <library>
call_plan plan_for(const problem&, const device&) {
  return call_plan::refused("this build has no CUDA");
}

#endif

namespace {

template <library by>
constexpr algorithm entry(std::string_view name, std::string_view source) {
  algorithm a = kernels::gpu_entry(name, "sort", source);
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  // CUB's segmented sort reads back the number of segments for each of its kernels.
  a.promises.synchronises = by == library::thrust || by == library::segmented;
  a.executors = set_of(executor_kind::cuda);
  if (by == library::clustered) a.dtypes = set_of(dtype::float32);
  a.plan = &plan_for<by>;
  return a;
}

constexpr std::array variants = {
    entry<library::thrust>("thrust-sort", "Thrust stable_sort_by_key"),
    entry<library::clustered>("clustered-sort", "Pan & Manocha 2011; CUB DeviceRadixSort"),
    entry<library::segmented_radix>("cub-segmented-radix", "CUB DeviceSegmentedRadixSort"),
    entry<library::segmented>("cub-segmented-sort", "CUB DeviceSegmentedSort"),
};

}  // namespace
}  // namespace kselect::gpu_full_sort

namespace kselect::entries {

std::span<const algorithm> gpu_full_sort() { return gpu_full_sort::variants; }

}  // namespace kselect::entries
