#pragma once
// Distances in float64 of a few queries to the whole corpus, for those that products cannot prove.

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/finish.cuh"

namespace kselect::search::fused {

// A warp takes vectors in turn and measures each against up to `together` queries.
struct exact_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  static constexpr int together = 8;
  struct args {
    image_source queries, corpus;
    numbering query_of;
    std::int64_t rows, count;
    std::int64_t vectors_a_block;
    global<double> distances;     // [rows][count]
    std::int64_t first_own = -1;  // as in finish_kernel
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t groups = (a.rows + together - 1) / together;
    const std::int64_t first_row = simt.block() % groups * together;
    const std::int64_t part = simt.block() / groups;
    const std::int64_t last = smaller(a.count, (part + 1) * a.vectors_a_block);
    const std::int64_t last_row = smaller(a.rows, first_row + together);
    for (std::int64_t i = part * a.vectors_a_block + simt.warp(); i < last; i += simt.warps()) {
      const image_row y = image_of(simt, a.corpus, i);
      for (std::int64_t row = first_row; row < last_row; ++row) {
        const std::int64_t query = a.query_of(simt, row);
        const image_row x = image_of(simt, a.queries, query);
        const double sum = warp_sum(simt, share_of_difference(simt, x, y, a.corpus.dimension));
        double distance = ranked(sum, a.corpus.unit(), x, y);
        // The last of all keys: k is at most count - 1 then.
        if (a.first_own >= 0 && i == a.first_own + query) {
          distance = std::bit_cast<double>(0x7fffffffffffffffULL);
        }
        if (simt.lane() == 0) simt.store(a.distances, row * a.count + i, distance);
      }
    }
  }

 private:
  KSELECT_HD static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

// Copies selected answers to the rows of their queries.
struct place_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    numbering query_of;
    std::int64_t rows;
    global<const double> values;         // [rows][k]
    global<const std::int32_t> indices;  // [rows][k]
    answers to;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.rows * a.to.k) return;
    const std::int64_t row = i / a.to.k;
    write_answer(simt, a.to, a.query_of(simt, row), i % a.to.k, simt.load(a.values, i),
                 simt.load(a.indices, i));
  }
};

}  // namespace kselect::search::fused
