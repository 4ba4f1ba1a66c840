#pragma once
// Device code: the shape of a block of filter_wgmma.cu, its share of the work, and what a thread
// reads off its sums.

#include "search/knn/fused/filter_args.cuh"
#include "search/knn/fused/half_pairs.cuh"
#include "search/knn/fused/hopper.cuh"
#include "search/knn/fused/plan.hpp"

namespace kselect::search::fused::hopper {

inline constexpr int consumers = query_tiles_of_wgmma;  // groups, of one tile of queries each
inline constexpr int block_rows = consumers * tile_rows;
inline constexpr int row_halves = 2;  // products of 64 rows that make up a group's 128
inline constexpr int columns_of_thread = 32;

// A group's sums of a tile.
using group_sums = sums_of_64[row_halves];

// A piece of the work. `of_pairs`: of a graph whose pairs are multiplied once. `active`: groups
// that multiply. With one tile of queries one group is active, else both. A group beside the last
// tile multiplies, too, and keeps nothing.
struct share {
  int first_query_tile, part, first_tile, tiles, active;
  __device__ __forceinline__ share(const filter_args& a, int piece, bool of_pairs) {
    if (of_pairs) {
      const auto own = pair_share::of({a.last_tile, a.part, consumers},
                                      std::int64_t{piece} * a.shares + a.share);
      first_query_tile = own.row;
      part = 0;
      first_tile = own.first;
      tiles = own.last - own.first;
      active = min(consumers, a.last_tile - first_query_tile);
      return;
    }
    const int blocks_of_part = (a.query_tiles + consumers - 1) / consumers;
    first_query_tile = piece % blocks_of_part * consumers;
    part = piece / blocks_of_part;
    first_tile = a.first_tile + part * a.part;
    tiles = min(a.part, a.last_tile - first_tile);
    active = min(consumers, a.query_tiles);
  }
};

// The thread's best score of a row.
__device__ __forceinline__ float best_of(const sums_of_64& sums, int h) {
  float best = sums[2 * h];
#pragma unroll
  for (int j = 0; j < columns_of_thread / 2; ++j) {
    best = fmaxf(best, fmaxf(sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]));
  }
  return best;
}
// The thread's best score of the column of sums[.][at] and sums[.][at + 2].
__device__ __forceinline__ float best_of_column(const group_sums& sums, int at) {
  return fmaxf(fmaxf(sums[0][at], sums[0][at + 2]), fmaxf(sums[1][at], sums[1][at + 2]));
}

}  // namespace kselect::search::fused::hopper
