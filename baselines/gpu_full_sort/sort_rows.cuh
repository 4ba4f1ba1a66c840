#pragma once
// Full sorts on the GPU by Thrust and CUB. gpu_full_sort.cu explains them. The files beside this
// one instantiate a few libraries each, because nvcc takes long for each.

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <new>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sort.h>

#include "baselines/gpu_full_sort/library.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::gpu_full_sort {

using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

// The keys that are sorted: selection keys, or (row, selection key).
template <class T, library by>
using sort_key = std::conditional_t<by == library::clustered, std::uint64_t, order_key_t<T>>;

template <class Key>
struct arrays {
  simt::global<Key> keys, sorted_keys;
  simt::global<position> positions, sorted_positions;  // empty unless wanted
  simt::global<std::byte> temporary;
};

inline std::int64_t chunk_rows(const problem& p) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 28;
  return std::max<std::int64_t>(std::min(most_elements / p.n, p.q), 1);
}

// ---- before and after a sort

template <class T, library by>
struct make_keys_kernel {
  struct storage {};
  struct args {
    rows_view<T> matrix;
    arrays<sort_key<T, by>> into;
    std::int64_t first_row, rows;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    const std::int64_t n = a.matrix.n;
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < a.rows * n; i += stride) {
      const std::int64_t row = i / n;
      const std::int64_t column = i - row * n;
      const T value = simt.load(a.matrix.input, (a.first_row + row) * a.matrix.pitch + column);
      sort_key<T, by> key = selection_key(value, a.matrix.wanted);
      if constexpr (by == library::clustered) key |= static_cast<std::uint64_t>(row) << 32;
      simt.store(a.into.keys, i, key);
      if (a.into.positions.size != 0) {
        simt.store(a.into.positions, i, static_cast<position>(column));
      }
    }
  }
};

template <class T, library by, answer what>
struct write_kernel {
  struct storage {};
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    simt::global<const sort_key<T, by>> keys;
    simt::global<const position> positions;
    std::int64_t first_row, rows;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    const std::int64_t k = a.matrix.k;
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < a.rows * k; i += stride) {
      const std::int64_t row = i / k;
      const std::int64_t from = row * a.matrix.n + (i - row * k);
      position at = 0;
      if constexpr (what == answer::pairs) at = simt.load(a.positions, from);
      kernels::write_answer<what>(simt, a.out, a.first_row * k + i,
                                  static_cast<order_key_t<T>>(simt.load(a.keys, from)), at,
                                  a.matrix.wanted);
    }
  }
};

// ---- the libraries

struct row_begin {
  std::int64_t n;
  KSELECT_HD std::int64_t operator()(std::int64_t row) const { return row * n; }
};
inline auto begins_of(std::int64_t n) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), row_begin{n});
}

// Sorts a chunk by CUB. If `temporary` is null, only sets `bytes` to the size that it needs.
template <library by, class Key>
cudaError_t sort_by_cub(void* temporary, std::size_t& bytes, const arrays<Key>& a, std::int64_t n,
                        std::int64_t rows, cudaStream_t stream) {
  const bool indexed = a.positions.size != 0;
  const auto items = static_cast<int>(rows * n);
  const auto segments = static_cast<int>(rows);
  const auto begins = begins_of(n);
  if constexpr (by == library::clustered) {
    int end_bit = 32;
    while (end_bit < 64 && (std::int64_t{1} << (end_bit - 32)) < rows) ++end_bit;
    return indexed ? cub::DeviceRadixSort::SortPairs(
                         temporary, bytes, a.keys.data, a.sorted_keys.data, a.positions.data,
                         a.sorted_positions.data, items, 0, end_bit, stream)
                   : cub::DeviceRadixSort::SortKeys(temporary, bytes, a.keys.data,
                                                    a.sorted_keys.data, items, 0, end_bit, stream);
  } else if constexpr (by == library::segmented_radix) {
    constexpr int bits = 8 * sizeof(Key);
    return indexed
               ? cub::DeviceSegmentedRadixSort::SortPairs(
                     temporary, bytes, a.keys.data, a.sorted_keys.data, a.positions.data,
                     a.sorted_positions.data, items, segments, begins, begins + 1, 0, bits, stream)
               : cub::DeviceSegmentedRadixSort::SortKeys(temporary, bytes, a.keys.data,
                                                         a.sorted_keys.data, items, segments,
                                                         begins, begins + 1, 0, bits, stream);
  } else {
    return indexed ? cub::DeviceSegmentedSort::StableSortPairs(
                         temporary, bytes, a.keys.data, a.sorted_keys.data, a.positions.data,
                         a.sorted_positions.data, items, segments, begins, begins + 1, stream)
                   : cub::DeviceSegmentedSort::StableSortKeys(temporary, bytes, a.keys.data,
                                                              a.sorted_keys.data, items, segments,
                                                              begins, begins + 1, stream);
  }
}

// Gives Thrust its temporary arrays from the workspace.
class workspace_allocator {
 public:
  using value_type = char;
  explicit workspace_allocator(simt::global<std::byte> memory) : memory_(memory) {}
  char* allocate(std::ptrdiff_t bytes) {
    const std::int64_t rounded = (bytes + 255) / 256 * 256;
    if (used_ + rounded > memory_.size) throw std::bad_alloc();
    used_ += rounded;
    return reinterpret_cast<char*>(memory_.data + used_ - rounded);
  }
  void deallocate(char*, std::size_t) {}
  void clear() { used_ = 0; }

 private:
  simt::global<std::byte> memory_;
  std::int64_t used_ = 0;
};

// One call a row, in place in the unsorted arrays.
template <class Key>
status sort_by_thrust(const arrays<Key>& a, std::int64_t n, std::int64_t rows,
                      cudaStream_t stream) {
  workspace_allocator memory(a.temporary);
  try {
    for (std::int64_t row = 0; row < rows; ++row) {
      memory.clear();
      const auto policy = thrust::cuda::par(memory).on(stream);
      Key* const first = a.keys.data + row * n;
      if (a.positions.size != 0) {
        thrust::stable_sort_by_key(policy, first, first + n, a.positions.data + row * n);
      } else {
        thrust::stable_sort(policy, first, first + n);
      }
    }
  } catch (const std::exception& problem) {
    return {status_code::failed, std::string("thrust::stable_sort: ") + problem.what()};
  }
  return {};
}

// ---- the interface

template <class T, library by>
arrays<sort_key<T, by>> carve(const problem& p, simt::carver& memory) {
  using key = sort_key<T, by>;
  const std::int64_t rows = chunk_rows(p);
  const std::int64_t elements = rows * p.n;
  const std::int64_t positions = p.has_indices() ? elements : 0;
  arrays<key> a;
  a.keys = memory.take<key>(elements);
  a.positions = memory.take<position>(positions);
  std::size_t temporary = 0;
  if constexpr (by == library::thrust) {
    // A second array of keys and one of positions, as long as a row, and the radix sort's counts.
    constexpr std::size_t counts = std::size_t{32} << 20;
    temporary = static_cast<std::size_t>(p.n + 256) * (sizeof(key) + sizeof(position)) + counts;
  } else {
    a.sorted_keys = memory.take<key>(elements);
    a.sorted_positions = memory.take<position>(positions);
    sort_by_cub<by>(nullptr, temporary, a, p.n, rows, nullptr);
  }
  a.temporary = memory.take<std::byte>(static_cast<std::int64_t>(temporary));
  return a;
}

template <class T, library by>
status sort_chunk(const arrays<sort_key<T, by>>& a, std::int64_t n, std::int64_t rows,
                  const executor& on) {
  const auto stream = static_cast<cudaStream_t>(on.stream);
  if constexpr (by == library::thrust) {
    return sort_by_thrust(a, n, rows, stream);
  } else {
    auto bytes = static_cast<std::size_t>(a.temporary.size);
    return simt::detail::cuda_status(sort_by_cub<by>(a.temporary.data, bytes, a, n, rows, stream),
                                     "sort", "cub");
  }
}

inline constexpr int threads = 256;
inline std::int64_t blocks_for(std::int64_t elements) {
  return std::min<std::int64_t>((elements + threads - 1) / threads, 1 << 16);
}

template <class T, library by, answer what>
status start(const problem& p, const io& buffers, std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const auto a = carve<T, by>(p, pieces);
  const auto matrix = kernels::rows_of<T>(p, buffers);
  const auto out = kernels::answer_in<T>(p, buffers);
  const bool in_place = by == library::thrust;
  const std::int64_t most = chunk_rows(p);
  status done;
  for (std::int64_t first = 0; done.ok() && first < p.q; first += most) {
    const std::int64_t rows = std::min(most, p.q - first);
    done = simt::launch<make_keys_kernel<T, by>>(on, {blocks_for(rows * p.n), threads},
                                                 {matrix, a, first, rows});
    if (done.ok()) done = sort_chunk<T, by>(a, p.n, rows, on);
    if (done.ok()) {
      done = simt::launch<write_kernel<T, by, what>>(
          on, {blocks_for(rows * p.k), threads},
          {matrix, out, in_place ? a.keys : a.sorted_keys,
           in_place ? a.positions : a.sorted_positions, first, rows});
    }
  }
  return done;
}

// The clustered sort declares float32 alone, so other types are never planned.
template <library by, class T>
inline constexpr bool declared = by != library::clustered || sizeof(T) == 4;

template <library by>
call_plan plan_for(const problem& p, const device&) {
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    if constexpr (declared<by, T>) {
      simt::carver sizes(nullptr);
      carve<T, by>(p, sizes);
      return call_plan::of<&start<T, by, what>>(p, sizes.used());
    } else {
      return call_plan::refused("float32 only");
    }
  });
}

}  // namespace kselect::gpu_full_sort
