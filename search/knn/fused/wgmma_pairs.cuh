#pragma once
// Device code: from the sums of a tile of a graph's pairs to hits of its rows and columns
// (half_pairs.cuh), for filter_wgmma.cu.

#include "search/knn/fused/wgmma_block.cuh"

namespace kselect::search::fused::hopper {

// Hits of a group: of 128 rows by a part of columns about twice the survivors that it expects.
using group_hits = hit_buffer<512>;

// What a thread of a group has in a tile. Bit i of a mask is of column 8 (i / 2) + i % 2 after the
// thread's first.
template <class Simt>
struct pair_tile {
  Simt& simt;
  group_hits& hits;
  const survivor_lists& lists;
  int row, column;        // the thread's first
  shared_address limits;  // of the columns, from the thread's first on

  // `after`: by how many tiles the columns follow the rows. Pairs of an earlier tile are another
  // block's or group's. Where rows meet themselves, rows alone are compared.
  __device__ __forceinline__ void emit(const group_sums& sums,
                                       const float (&limits_of_rows)[row_halves][2],
                                       int after) const {
    if (after < 0) return;
#pragma unroll
    for (int r = 0; r < 2 * row_halves; ++r) {
      const float limit = limits_of_rows[r / 2][r % 2];
      const float best = best_of(sums[r / 2], r % 2);
      if (best > limit) add_to_row(beyond(sums[r / 2], r % 2, limit), row_of(r), best);
    }
    if (after > 0 && some_column_passes(sums)) add_to_columns(sums);
  }

 private:
  // Computed where it is called, in rare branches: for all rows in advance it would not fit in the
  // registers.
  __device__ __forceinline__ int row_of(int r) const {
    int own = row + 64 * (r / 2) + 8 * (r % 2);
    asm volatile("" : "+r"(own));
    return own;
  }
  __device__ __forceinline__ static std::uint32_t beyond(const sums_of_64& sums, int h,
                                                         float limit) {
    std::uint32_t passed = 0;
#pragma unroll
    for (int i = 0; i < columns_of_thread; ++i) {
      passed |= (sums[i / 2 * 4 + 2 * h + i % 2] > limit ? 1U : 0U) << i;
    }
    return passed;
  }
  __device__ __forceinline__ bool some_column_passes(const group_sums& sums) const {
    bool some = false;
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      const float2 both = load_two(limits + j * 8 * sizeof(float));
      some |= best_of_column(sums, 4 * j) > both.x;
      some |= best_of_column(sums, 4 * j + 1) > both.y;
    }
    return some;
  }
  __device__ __forceinline__ void add_to_row(std::uint32_t passed, int own, float best) const {
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      const int i = __ffs(static_cast<int>(passed)) - 1;
      hits.add(simt, lists, static_cast<std::uint32_t>(own),
               static_cast<std::uint32_t>(column + i / 2 * 8 + i % 2), best);
    }
  }
  // The best score of the row stands for each of its hits, as in a list of survivors.
  __device__ __forceinline__ void add_to_columns(const group_sums& sums) const {
#pragma unroll
    for (int r = 0; r < 2 * row_halves; ++r) {
      std::uint32_t passed = 0;
#pragma unroll
      for (int j = 0; j < columns_of_thread / 2; ++j) {
        const float2 both = load_two_again(limits + j * 8 * sizeof(float));
        const int at = 4 * j + 2 * (r % 2);
        passed |= (sums[r / 2][at] > both.x ? 1U : 0U) << 2 * j;
        passed |= (sums[r / 2][at + 1] > both.y ? 1U : 0U) << (2 * j + 1);
      }
      if (passed == 0) continue;
      const float best = best_of(sums[r / 2], r % 2);
      const int own = row_of(r);
#pragma unroll 1
      for (; passed != 0; passed &= passed - 1) {
        const int i = __ffs(static_cast<int>(passed)) - 1;
        hits.add(simt, lists, static_cast<std::uint32_t>(column + i / 2 * 8 + i % 2),
                 static_cast<std::uint32_t>(own), best);
      }
    }
  }
};

}  // namespace kselect::search::fused::hopper
