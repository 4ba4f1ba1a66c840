#pragma once
// The products of a fused search, filtered in registers: of the Q x n scores only those beyond
// their query's threshold leave the kernel, as positions in short lists.
//
//     score(x, y) = x.y + start(y),   greater is nearer (start_kernel, docs/decisions/knn.md)
//
// A block multiplies 128 queries with one part of the corpus, a tile of 128 vectors at a time. Its
// 8 warps hold 64 x 32 scores each, in accumulators that begin with the starts of their columns.
// Operands come from shared memory, slab by slab (64 components): a pipeline of copies runs
// stages - 1 slabs ahead. Queries of up to 128 components stay in shared memory; longer ones pass
// through the pipeline beside the corpus. Both sides lie in memory as they are to lie in shared
// memory (layout.hpp), so copies are linear.
//
// When a tile's scores are complete, each thread compares the maximum of its 8 scores of a row with
// the row's threshold. The few rows that pass take a mask of the scores that do and one addition to
// the block's counter of the row in shared memory. A row has a segment of its list for each part of
// the corpus, so no counter is shared by blocks.
//
// Thresholds come from a sample. Of a small one all scores are written. Of a large one a row has
// only maxima, of 32 columns of some tiles each: where there are many, the r-th largest of them is
// seldom below the r-th largest score, and a lower threshold only admits more.
//
// Vectors that all queries leave out have a start of -inf, so this kernel does not know of them. If
// queries differ in what they leave out, scores that pass are looked up in the query's bits.
//
// Blocks with neighbouring numbers take the same part of the corpus, so that L2 serves its tiles.

#include <cmath>
#include <cstddef>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// What leaves the kernel.
enum class output : std::uint8_t {
  matrix,  // all scores, for a first threshold from a few tiles
  maxima,  // the largest scores of groups of columns, for a threshold from many tiles
  scored   // survivors, with scores that are no lower than their own
};

struct filter_args {
  rounded queries, corpus;
  global<const float> starts;      // [corpus tiles * tile_rows]
  global<const float> thresholds;  // [rows]; for output::scored
  std::int64_t rows = 0;           // queries
  int slabs = 0, query_tiles = 0;
  int first_tile = 0, last_tile = 0;  // of the corpus
  int part = 0;                       // tiles of a block
  survivor_lists lists;
  // [query_tiles * tile_rows][matrix_pitch]: scores, or maxima_of_tile maxima of each group of
  // tiles
  global<float> matrix;
  std::int64_t matrix_pitch = 0;
  int group = 1;  // tiles of a group; for output::maxima a part is a multiple of it
  simt::product factors = simt::product::float16;  // of the vectors; float16 or int8
  // Of queries that differ in what they leave out: their bits, the vector of a position, the query
  // of a row. They stand last: what other kernels read keeps its place.
  admitted allowed;
  numbering vector_of, query_of;
};

// Sums of products as the filter compares them. Integers, which bytes have, are exact, and below
// 2^28 in magnitude: 4096 products of up to 2^14, and less than that for the start. What is left
// out starts below -2^29, what is always kept above 2^29.
template <simt::product factors>
struct score_sums {
  using sum = simt::product_sum<factors>;
  static constexpr bool integers = simt::of_bytes(factors);
  static constexpr std::int32_t beyond_all = 1 << 29;

  KSELECT_HD static sum lowest() {
    if constexpr (integers) {
      return std::numeric_limits<sum>::min();
    } else {
      return -std::numeric_limits<sum>::infinity();
    }
  }
  KSELECT_HD static sum larger(sum a, sum b) {
    if constexpr (integers) {
      return a > b ? a : b;
    } else {
      return std::fmax(a, b);
    }
  }
  // A higher start only admits more.
  KSELECT_HD static sum start(float from) {
    if constexpr (integers) {
      if (!(from > -static_cast<float>(beyond_all))) return -2 * beyond_all;
      if (!(from < static_cast<float>(beyond_all))) return 2 * (beyond_all - 1);
      return static_cast<sum>(std::ceil(from));
    } else {
      return from;
    }
  }
  // The largest sum that is not beyond a threshold.
  KSELECT_HD static sum limit(float threshold) {
    if constexpr (integers) {
      if (threshold == std::numeric_limits<float>::infinity()) {
        return std::numeric_limits<sum>::max();
      }
      if (!(threshold > -static_cast<float>(beyond_all))) return -beyond_all;
      if (!(threshold < static_cast<float>(beyond_all))) return beyond_all;
      return static_cast<sum>(std::floor(threshold));
    } else {
      return threshold;
    }
  }
  // Rounded to float32; the bound counts that (prepared_corpus.cu).
  KSELECT_HD static float score(sum of) {
    if constexpr (integers) {
      if (of < -beyond_all) return -std::numeric_limits<float>::infinity();
      if (of > beyond_all) return std::numeric_limits<float>::infinity();
      return static_cast<float>(of);
    } else {
      return of;
    }
  }
};

// `each`: queries differ in what they leave out.
template <output wanted, bool queries_stay, bool each = false,
          simt::product factors = simt::product::float16>
struct filter_kernel {
  static_assert(!each || wanted == output::scored);
  static constexpr int max_threads = 256;
  static constexpr int min_blocks = 2;
  static constexpr int stages = queries_stay ? 4 : 3;
  static constexpr int most_slabs_that_stay = 2;
  using sums_of = score_sums<factors>;
  using sum = typename sums_of::sum;
  struct storage {
    std::uint32_t found[tile_rows];
  };
  using args = filter_args;
  static constexpr std::size_t dynamic_bytes(int slabs) {
    return static_cast<std::size_t>(slab_bytes) *
           static_cast<std::size_t>(queries_stay ? slabs + stages : 2 * stages);
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    worker<Simt>(simt, shared, a).work();
  }

 private:
  // Of a warp: 4 fragments of 16 queries, 4 of 8 vectors.
  static constexpr int row_fragments = 4, column_fragments = 4;
  using scores = sum[row_fragments][column_fragments][4];

  template <class Simt>
  class worker {
   public:
    KSELECT_HD worker(Simt& simt, storage& shared, const args& a)
        : simt_(simt),
          shared_(shared),
          a_(a),
          memory_(static_cast<chunk*>(simt.dynamic_shared())),
          query_tile_(simt.block() % a.query_tiles),
          part_(simt.block() / a.query_tiles),
          first_(a.first_tile + part_ * a.part),
          last_(first_ + a.part < a.last_tile ? first_ + a.part : a.last_tile),
          row_(simt.warp() / 4 * (16 * row_fragments) + simt.lane() / 4),
          column_(simt.warp() % 4 * (8 * column_fragments) + simt.lane() % 4 * 2) {}

    KSELECT_HD void work() {
      begin();
      sum limits[row_fragments][2];
      load_limits(limits);
      scores sums;
      int slab = 0, tile = first_;
      const int steps = (last_ - first_) * a_.slabs;
      for (int step = 0; step < steps; ++step) {
        simt_.template wait_copies<stages - 2>();
        simt_.sync_block();
        fetch(step + stages - 1, steps);
        if (slab == 0) start(sums, tile);
        multiply(sums, slab, step % stages);
        if (++slab < a_.slabs) continue;
        emit(sums, limits, tile);
        slab = 0;
        ++tile;
      }
      end();
    }

   private:
    KSELECT_HD void begin() {
      if (simt_.thread() < tile_rows) shared_.found[simt_.thread()] = 0;
      if constexpr (queries_stay) {
        const std::int64_t from = std::int64_t{query_tile_} * a_.slabs * slab_vectors;
        for (int i = simt_.thread(); i < a_.slabs * slab_vectors; i += max_threads) {
          simt_.copy_async(memory_ + i, a_.queries.slabs, from + i);
        }
      }
      const int steps = (last_ - first_) * a_.slabs;
      for (int s = 0; s < stages - 1; ++s) fetch(s, steps);
    }

    KSELECT_HD chunk* stage(int s) const {
      if constexpr (queries_stay) return memory_ + (a_.slabs + s) * slab_vectors;
      return memory_ + 2 * s * slab_vectors;
    }

    // Begins to copy the slab of that step. Every step has a group of copies, empty at the end.
    KSELECT_HD void fetch(int step, int steps) {
      if (step < steps) {
        const std::int64_t from = (std::int64_t{first_} * a_.slabs + step) * slab_vectors;
        chunk* const to = stage(step % stages);
        for (int i = simt_.thread(); i < slab_vectors; i += max_threads) {
          simt_.copy_async(to + i, a_.corpus.slabs, from + i);
        }
        if constexpr (!queries_stay) {
          const std::int64_t query =
              (std::int64_t{query_tile_} * a_.slabs + step % a_.slabs) * slab_vectors;
          for (int i = simt_.thread(); i < slab_vectors; i += max_threads) {
            simt_.copy_async(to + slab_vectors + i, a_.queries.slabs, query + i);
          }
        }
      }
      simt_.commit_copies();
    }

    // Of a row that is not there no score passes; maxima begin below all scores.
    KSELECT_HD static sum limit_without() {
      if constexpr (wanted != output::scored) return sums_of::lowest();
      return sums_of::limit(std::numeric_limits<float>::infinity());
    }
    KSELECT_HD void load_limits(sum (&limits)[row_fragments][2]) {
      KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
        KSELECT_UNROLL for (int h = 0; h < 2; ++h) {
          const std::int64_t row = std::int64_t{query_tile_} * tile_rows + row_ + 16 * m + 8 * h;
          const bool filtered = wanted == output::scored && row < a_.rows;
          limits[m][h] =
              filtered ? sums_of::limit(simt_.load(a_.thresholds, row)) : limit_without();
        }
      }
    }

    KSELECT_HD void start(scores& sums, int tile) {
      const auto pairs = simt::as_vec<2>(a_.starts);
      const std::int64_t first = std::int64_t{tile} * tile_rows + column_;
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        const auto both = simt_.load(pairs, (first + 8 * f) / 2);
        const sum begin[2] = {sums_of::start(both[0]), sums_of::start(both[1])};
        KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
          KSELECT_UNROLL for (int i = 0; i < 4; ++i) sums[m][f][i] = begin[i % 2];
        }
      }
    }

    KSELECT_HD void multiply(scores& sums, int slab, int at) {
      const chunk* const corpus = stage(at);
      const chunk* const queries =
          queries_stay ? memory_ + slab * slab_vectors : corpus + slab_vectors;
      const int lane = simt_.lane(), warp = simt_.warp();
      // The rows that this lane names to load_matrices.
      const int query = warp / 4 * (16 * row_fragments) + lane % 16;
      const int vector = warp % 4 * (8 * column_fragments) + lane % 8 + lane / 16 * 8;
      KSELECT_UNROLL for (int k = 0; k < slab_chunks / 2; ++k) {
        std::uint32_t left[row_fragments][4], right[column_fragments / 2][4];
        KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
          simt_.load_matrices(left[m], queries + place_in_slab(query + 16 * m, 2 * k + lane / 16));
        }
        KSELECT_UNROLL for (int f = 0; f < column_fragments / 2; ++f) {
          simt_.load_matrices(right[f],
                              corpus + place_in_slab(vector + 16 * f, 2 * k + lane / 8 % 2));
        }
        KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
          KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
            simt_.template multiply_add<factors>(sums[m][f], left[m], right[f / 2][f % 2 * 2],
                                                 right[f / 2][f % 2 * 2 + 1]);
          }
        }
      }
    }

    // `limits`: thresholds, or the maxima of a group of tiles so far.
    KSELECT_HD void emit(const scores& sums, sum (&limits)[row_fragments][2], int tile) {
      KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
        KSELECT_UNROLL for (int h = 0; h < 2; ++h) {
          const int row = row_ + 16 * m + 8 * h;
          if constexpr (wanted == output::matrix) {
            write_row(sums[m], row, h, tile);
          } else if constexpr (wanted == output::maxima) {
            limits[m][h] = sums_of::larger(limits[m][h], best_of(sums[m], h));
          } else {
            const sum best = best_of(sums[m], h);
            if (best > limits[m][h]) {
              keep(sums[m], row, h, tile, limits[m][h], sums_of::score(best));
            }
          }
        }
      }
      if constexpr (wanted == output::maxima) {
        if ((tile - first_ + 1) % a_.group == 0 || tile + 1 == last_) write_maxima(limits, tile);
      }
    }
    KSELECT_HD static sum best_of(const sum (&sums)[column_fragments][4], int h) {
      sum best = sums[0][2 * h];
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        best = sums_of::larger(best, sums_of::larger(sums[f][2 * h], sums[f][2 * h + 1]));
      }
      return best;
    }

    // A warp has 32 columns, of which 4 lanes hold a row.
    KSELECT_HD void write_maxima(sum (&maxima)[row_fragments][2], int tile) {
      const std::int64_t column =
          std::int64_t{(tile - a_.first_tile) / a_.group} * maxima_of_tile + simt_.warp() % 4;
      KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
        KSELECT_UNROLL for (int h = 0; h < 2; ++h) {
          sum best = maxima[m][h];
          best = sums_of::larger(best, simt_.shfl_xor(simt::full_mask, best, 1));
          best = sums_of::larger(best, simt_.shfl_xor(simt::full_mask, best, 2));
          const std::int64_t row = std::int64_t{query_tile_} * tile_rows + row_ + 16 * m + 8 * h;
          if (simt_.lane() % 4 == 0) {
            simt_.store(a_.matrix, row * a_.matrix_pitch + column, sums_of::score(best));
          }
          maxima[m][h] = limit_without();
        }
      }
    }

    KSELECT_HD void write_row(const sum (&sums)[column_fragments][4], int row, int h, int tile) {
      const std::int64_t first = (std::int64_t{query_tile_} * tile_rows + row) * a_.matrix_pitch +
                                 std::int64_t{tile - a_.first_tile} * tile_rows + column_;
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        simt_.store(simt::as_vec<2>(a_.matrix), (first + 8 * f) / 2,
                    {{sums_of::score(sums[f][2 * h]), sums_of::score(sums[f][2 * h + 1])}});
      }
    }

    // Appends the thread's scores of a row that are beyond the limit. `best` stands for each
    // (survivor_lists).
    KSELECT_HD void keep(const sum (&sums)[column_fragments][4], int row, int h, int tile,
                         sum limit, float best) {
      std::uint32_t passed = 0;
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        KSELECT_UNROLL for (int e = 0; e < 2; ++e) {
          passed |= (sums[f][2 * h + e] > limit ? 1U : 0U) << (2 * f + e);
        }
      }
      if constexpr (each) {
        passed = among(passed, row, tile);
        if (passed == 0) return;
      }
      std::uint32_t place =
          simt_.atomic_add(shared_.found[row], static_cast<std::uint32_t>(simt_.popc(passed)));
      const std::int64_t segment =
          ((std::int64_t{query_tile_} * tile_rows + row) * a_.lists.splits + part_) * a_.lists.room;
      const auto room = static_cast<std::uint32_t>(a_.lists.room);
      const auto first =
          static_cast<std::uint32_t>(tile) * tile_rows + static_cast<std::uint32_t>(column_);
      for (; passed != 0 && place < room; passed &= passed - 1, ++place) {
        const auto i = static_cast<std::uint32_t>(simt_.ffs(passed) - 1);
        simt_.store(a_.lists.positions, segment + place, first + i / 2 * 8 + i % 2);
        simt_.store(a_.lists.scores, segment + place, best);
      }
    }

    // Those of the scores that passed whose vectors the row's query may return.
    KSELECT_HD std::uint32_t among(std::uint32_t passed, int row, int tile) {
      const std::int64_t query = a_.query_of(simt_, std::int64_t{query_tile_} * tile_rows + row);
      const std::int64_t first = std::int64_t{tile} * tile_rows + column_;
      std::uint32_t kept = 0;
      for (; passed != 0; passed &= passed - 1) {
        const int i = simt_.ffs(passed) - 1;
        const std::int64_t vector = a_.vector_of(simt_, first + i / 2 * 8 + i % 2);
        if (a_.allowed(simt_, query, vector)) kept |= 1U << i;
      }
      return kept;
    }

    KSELECT_HD void end() {
      if constexpr (wanted != output::scored) return;
      simt_.sync_block();
      if (simt_.thread() >= tile_rows) return;
      const std::int64_t row = std::int64_t{query_tile_} * tile_rows + simt_.thread();
      simt_.store(a_.lists.counts, row * a_.lists.splits + part_, shared_.found[simt_.thread()]);
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    chunk* const memory_;
    const int query_tile_, part_, first_, last_;
    const int row_, column_;  // of this thread's first score
  };
};

}  // namespace kselect::search::fused
