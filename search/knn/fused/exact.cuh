#pragma once
// Distances in float64 of a few queries to the whole corpus, for those that products cannot prove.

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/finish.cuh"

namespace kselect::search::fused {

// A warp takes vectors in turn and measures each against up to `together` queries.
// `products`: the metric is the inner product.
template <bool products>
struct exact_kernel_of {
  // The last of all keys: what is left out follows every vector, also one at a distance of NaN.
  static constexpr std::uint64_t left_out_bits = 0x7fffffffffffffffULL;
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
    admitted allowed = {};
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
        if (leaves_out(simt, a, query, i)) {
          if (simt.lane() == 0) {
            simt.store(a.distances, row * a.count + i, std::bit_cast<double>(left_out_bits));
          }
          continue;
        }
        const image_row x = image_of(simt, a.queries, query);
        const double distance = measure(simt, a, x, y);
        if (simt.lane() == 0) simt.store(a.distances, row * a.count + i, distance);
      }
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static bool leaves_out(Simt& simt, const args& a, std::int64_t query,
                                    std::int64_t vector) {
    if (a.first_own >= 0 && vector == a.first_own + query) return true;
    return !a.allowed.all() && !a.allowed(simt, query, vector);
  }
  template <class Simt>
  KSELECT_HD static double measure(Simt& simt, const args& a, const image_row& x,
                                   const image_row& y) {
    const std::int64_t dimension = a.corpus.dimension;
    if constexpr (products) {
      return ranked_product(warp_sum(simt, share_of_product(simt, x, y, dimension)));
    } else {
      const double sum = warp_sum(simt, share_of_difference(simt, x, y, dimension));
      return ranked(sum, a.corpus.unit(), x, y);
    }
  }
  KSELECT_HD static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

using exact_kernel = exact_kernel_of<false>;

// Copies selected answers to the rows of their queries. What was left out was selected only where
// too few vectors are admitted, and is no answer.
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
    const double distance = simt.load(a.values, i);
    if (std::bit_cast<std::uint64_t>(distance) == exact_kernel::left_out_bits) {
      write_none(simt, a.to, a.query_of(simt, row), i % a.to.k);
    } else {
      write_answer(simt, a.to, a.query_of(simt, row), i % a.to.k, distance,
                   simt.load(a.indices, i));
    }
  }
};

}  // namespace kselect::search::fused
