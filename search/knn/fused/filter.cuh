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

#include <cstddef>
#include <limits>
#include <type_traits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/filter_args.cuh"
#include "search/knn/fused/half_pairs.cuh"

namespace kselect::search::fused {

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
  // Of a graph every vector has one list, in which blocks append hits of rows and columns.
  static constexpr bool halves = wanted == output::halves;
  struct row_counters {
    std::uint32_t found[tile_rows];
  };
  using hits = hit_buffer<128>;
  using storage = std::conditional_t<halves, hits, row_counters>;
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
  static constexpr bool compares = wanted == output::scored || halves;
  struct no_starts {};

  template <class Simt>
  class worker {
   public:
    KSELECT_HD worker(Simt& simt, storage& shared, const args& a)
        : simt_(simt),
          shared_(shared),
          a_(a),
          memory_(static_cast<chunk*>(simt.dynamic_shared())),
          own_(share_of(simt.block(), a)),
          query_tile_(own_.query_tile),
          part_(own_.part),
          first_(own_.first),
          last_(own_.last),
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
    struct share {
      int query_tile, part, first, last;
    };
    KSELECT_HD static share share_of(int block, const args& a) {
      if constexpr (halves) {
        const auto own =
            pair_share::of({a.last_tile, a.part, 1}, std::int64_t{block} * a.shares + a.share);
        return {own.row, 0, own.first, own.last};
      }
      const int part = block / a.query_tiles, first = a.first_tile + part * a.part;
      return {block % a.query_tiles, part, first,
              first + a.part < a.last_tile ? first + a.part : a.last_tile};
    }

    KSELECT_HD void begin() {
      if constexpr (halves) {
        if (simt_.thread() == 0) shared_.count = 0;
      } else {
        if (simt_.thread() < tile_rows) shared_.found[simt_.thread()] = 0;
      }
      if constexpr (!compares) zero_counters(simt_, a_);
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
      if constexpr (!compares) return sums_of::lowest();
      return sums_of::limit(std::numeric_limits<float>::infinity());
    }
    KSELECT_HD std::int64_t first_row() const {
      return std::int64_t{query_tile_} * tile_rows + row_;
    }
    // A graph's sums begin with the starts of both vectors.
    KSELECT_HD void load_limits(sum (&limits)[row_fragments][2]) {
      KSELECT_UNROLL for (int m = 0; m < row_fragments; ++m) {
        KSELECT_UNROLL for (int h = 0; h < 2; ++h) {
          const std::int64_t row = first_row() + 16 * m + 8 * h;
          const bool filtered = compares && row < a_.rows;
          limits[m][h] = filtered
                             ? sums_of::limit(simt_.load(halves ? a_.bounds : a_.thresholds, row))
                             : limit_without();
          if constexpr (halves) row_starts_[m][h] = sums_of::start(simt_.load(a_.starts, row));
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
          KSELECT_UNROLL for (int i = 0; i < 4; ++i) {
            if constexpr (halves) {
              sums[m][f][i] = sums_of::start_of_pair(row_starts_[m][i / 2], begin[i % 2]);
            } else {
              sums[m][f][i] = begin[i % 2];
            }
          }
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
          } else if constexpr (halves) {
            const sum best = best_of(sums[m], h);
            if (best > limits[m][h]) add_pairs(sums[m], row, h, tile, sums_of::score(best));
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

    // What is beyond the row's limit is a hit of the row; what is beyond a column's, of the column.
    // Padding has limits that nothing passes. `best` stands for the score of each.
    KSELECT_HD void add_pairs(const sum (&sums)[column_fragments][4], int row, int h, int tile,
                              float best) {
      const auto own = static_cast<std::uint32_t>(query_tile_ * tile_rows + row);
      const auto first = static_cast<std::uint32_t>(tile * tile_rows + column_);
      const sum limit = sums_of::limit(simt_.load(a_.thresholds, own));
      for (std::uint32_t passed = beyond(sums, h, limit); passed != 0; passed &= passed - 1) {
        const auto i = static_cast<std::uint32_t>(simt_.ffs(passed) - 1);
        shared_.add(simt_, a_.lists, own, first + i / 2 * 8 + i % 2, best);
      }
      if (tile == query_tile_) return;
      const auto pairs = simt::as_vec<2>(a_.thresholds);
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        const std::uint32_t column = first + 8U * static_cast<std::uint32_t>(f);
        const auto both = simt_.load(pairs, column / 2);
        KSELECT_UNROLL for (int e = 0; e < 2; ++e) {
          if (sums[f][2 * h + e] > sums_of::limit(both[e])) {
            shared_.add(simt_, a_.lists, column + static_cast<std::uint32_t>(e), own, best);
          }
        }
      }
    }
    KSELECT_HD static std::uint32_t beyond(const sum (&sums)[column_fragments][4], int h,
                                           sum limit) {
      std::uint32_t passed = 0;
      KSELECT_UNROLL for (int f = 0; f < column_fragments; ++f) {
        KSELECT_UNROLL for (int e = 0; e < 2; ++e) {
          passed |= (sums[f][2 * h + e] > limit ? 1U : 0U) << (2 * f + e);
        }
      }
      return passed;
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
          const std::int64_t row = first_row() + 16 * m + 8 * h;
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
      std::uint32_t passed = beyond(sums, h, limit);
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
      if constexpr (!compares) return;
      simt_.sync_block();
      if constexpr (halves) {
        shared_.flush(simt_, a_.lists, simt_.thread(), max_threads);
      } else if (simt_.thread() < tile_rows) {
        const std::int64_t row = std::int64_t{query_tile_} * tile_rows + simt_.thread();
        simt_.store(a_.lists.counts, row * a_.lists.splits + part_, shared_.found[simt_.thread()]);
      }
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    chunk* const memory_;
    const share own_;
    const int query_tile_, part_, first_, last_;
    const int row_, column_;  // of this thread's first score
    std::conditional_t<halves, sum[row_fragments][2], no_starts> row_starts_;
  };
};

}  // namespace kselect::search::fused
