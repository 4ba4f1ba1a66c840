#pragma once
// Device code: from the sums of a few tiles to survivors or maxima, for filter_slabs_wgmma.cu.

#include "search/knn/fused/append_survivors.cuh"
#include "search/knn/fused/slab_products.cuh"
#include "search/knn/fused/slab_ring.cuh"

namespace kselect::search::fused::hopper {

// How many sums a thread has in a product of 64 rows with a tile.
inline constexpr int sums_of_tile = 64;

// The warp groups that multiply. Each goes on to the next piece on its own.
inline constexpr int slab_groups = 2;

// What a block's threads share. Where they write is looked up there when they do: kept over the
// products it would not fit in the registers.
struct slab_counters {
  struct piece {
    std::int64_t first_row;  // of the piece, among all queries
    int part;
  };
  piece of_group[slab_groups];
  std::uint32_t found[tile_rows];
};

// The first of a thread's two rows, of the block's 128; the other is 8 further on.
__device__ __forceinline__ int first_row_of(int thread) {
  return thread / 32 * 16 + thread % 32 / 4;
}

// Of a thread: two rows of its block's queries, 32 columns of each of `together` tiles.
template <class sums_of, bool of_maxima>
class slab_lists {
 public:
  using sum = typename sums_of::sum;
  using sums = sum[together * sums_of_tile];

  __device__ __forceinline__ slab_lists(const filter_args& a, int query_tile, int thread) : a_(a) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::int64_t query =
          std::int64_t{query_tile} * tile_rows + first_row_of(thread) + 8 * h;
      const bool filtered = !of_maxima && query < a.rows;
      const sum limit =
          of_maxima ? sums_of::lowest()
                    : sums_of::limit(filtered ? __ldg(a.thresholds.data + query) : nothing_passes);
#pragma unroll
      for (int t = 0; t < limits_of; ++t) limits_[t][h] = limit;
    }
  }

  __device__ __forceinline__ void emit(const sums& of_step, const slab_share& own, int step,
                                       slab_counters& to) {
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int tile = own.tile_of(step, t);
      if (tile < own.last_tile) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const sum best = best_of(of_step, t, h);
          if constexpr (of_maxima) {
            limits_[t][h] = sums_of::larger(limits_[t][h], best);
          } else if (best > limits_[0][h]) {
            keep(of_step, t, h, best, tile, to);
          }
        }
      }
      if constexpr (of_maxima) {
        const int number = own.group_of(step, t);
        if (step % own.group == own.group - 1 && number < own.groups) {
          write_maxima(t, (own.first_tile - a_.first_tile) / own.group + number, to);
        }
      }
    }
  }

 private:
  static constexpr float nothing_passes = std::numeric_limits<float>::infinity();
  static constexpr int limits_of = of_maxima ? together : 1;
  static constexpr int columns_of_thread = 32;  // of a tile

  // The thread's best score of a row and tile.
  __device__ __forceinline__ static sum best_of(const sums& of_step, int t, int h) {
    sum best = of_step[t * sums_of_tile + 2 * h];
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      const int at = t * sums_of_tile + 4 * j + 2 * h;
      best = sums_of::larger(best, sums_of::larger(of_step[at], of_step[at + 1]));
    }
    return best;
  }

  // The maxima of a group of tiles: a thread has one of each of its rows.
  __device__ __forceinline__ void write_maxima(int t, int number, const slab_counters& of) {
    static_assert(maxima_of_tile == 4, "lanes that hold a row");
    const int thread = thread_again();
    const std::int64_t first_row = of.of_group[thread / group_threads].first_row;
    float* const to = a_.matrix.data + (first_row + first_row_of(thread)) * a_.matrix_pitch +
                      std::int64_t{number} * maxima_of_tile + thread % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      to[8 * h * a_.matrix_pitch] = sums_of::score(limits_[t % limits_of][h]);
      limits_[t % limits_of][h] = sums_of::lowest();
    }
  }

  // Appends the thread's scores of a row and tile that are beyond the limit. `best` stands for the
  // score of each.
  __device__ __forceinline__ void keep(const sums& of_step, int t, int h, sum best, int tile,
                                       slab_counters& to) const {
    std::uint32_t passed = 0;
#pragma unroll
    for (int i = 0; i < columns_of_thread; ++i) {
      const sum score = of_step[t * sums_of_tile + i / 2 * 4 + 2 * h + i % 2];
      passed |= (score > limits_[0][h] ? 1U : 0U) << i;
    }
    const int thread = thread_again(), row = first_row_of(thread) + 8 * h;
    const auto segment = [&] {
      const auto [first_row, part] = to.of_group[thread / group_threads];
      return (first_row + row) * a_.lists.splits + part;
    };
    append_survivors(a_.lists, to.found[row], segment, passed, tile * tile_rows + thread % 4 * 2,
                     sums_of::score(best));
  }

  const filter_args& a_;
  sum limits_[limits_of][2];  // thresholds, or the maxima of a group of tiles so far
};

}  // namespace kselect::search::fused::hopper
