#pragma once
// Device code: from the sums of a tile of a graph's pairs to hits of its rows and columns
// (half_pairs.cuh), for filter_wgmma.cu.

#include "search/knn/fused/wgmma_block.cuh"

namespace kselect::search::fused::hopper {

// Hits of a group, which has 128 rows: room for about twice the survivors that are expected in its
// part of the columns.
using group_hits = hit_buffer<512>;

// A thread's part of a tile. Bit i of a mask stands for column 8 (i / 2) + i % 2, counted from the
// thread's first column.
template <class Simt>
struct pair_tile {
  Simt& simt;
  group_hits& hits;
  const filter_args& args;
  int row, column;        // the thread's first
  shared_address limits;  // of the columns, from the thread's first on

  // `after`: by how many tiles the columns follow the rows. Pairs of an earlier tile are another
  // block's or group's. Where rows meet themselves, rows alone get hits.
  __device__ __forceinline__ void emit(const group_sums& sums, const float (&bounds)[row_halves][2],
                                       int after) const {
    if (after < 0) return;
#pragma unroll
    for (int r = 0; r < 2 * row_halves; ++r) {
      const float best = best_of(sums[r / 2], r % 2);
      if (best > bounds[r / 2][r % 2]) add(sums[r / 2], r % 2, row_of(r), best, after > 0);
    }
  }

 private:
  // Computed where it is called, in rare branches: for all rows in advance it would not fit in the
  // registers.
  __device__ __forceinline__ int row_of(int r) const {
    int own = row + 64 * (r / 2) + 8 * (r % 2);
    asm volatile("" : "+r"(own));
    return own;
  }
  // Hits of a row, and of columns if they are `others`. The best score of the row stands for each,
  // as in a list of survivors.
  __device__ __forceinline__ void add(const sums_of_64& sums, int h, int own, float best,
                                      bool others) const {
    const float limit = __ldg(args.thresholds.data + own);
    std::uint32_t of_row = 0, of_columns = 0;
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      const float2 both = load_two(limits + j * 8 * sizeof(float));
      const int at = 4 * j + 2 * h;
      of_row |= (sums[at] > limit ? 1U : 0U) << 2 * j;
      of_row |= (sums[at + 1] > limit ? 1U : 0U) << (2 * j + 1);
      of_columns |= (sums[at] > both.x ? 1U : 0U) << 2 * j;
      of_columns |= (sums[at + 1] > both.y ? 1U : 0U) << (2 * j + 1);
    }
    const auto mine = static_cast<std::uint32_t>(own);
#pragma unroll 1
    for (; of_row != 0; of_row &= of_row - 1) {
      hits.add(simt, args.lists, mine, first_of(of_row), best);
    }
    if (!others) return;
#pragma unroll 1
    for (; of_columns != 0; of_columns &= of_columns - 1) {
      hits.add(simt, args.lists, first_of(of_columns), mine, best);
    }
  }
  // The column of the lowest bit.
  __device__ __forceinline__ std::uint32_t first_of(std::uint32_t mask) const {
    const int i = __ffs(static_cast<int>(mask)) - 1;
    return static_cast<std::uint32_t>(column + i / 2 * 8 + i % 2);
  }
};

}  // namespace kselect::search::fused::hopper
