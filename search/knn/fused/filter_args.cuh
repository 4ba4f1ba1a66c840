#pragma once
// What a pass of the filter reads and writes, and how it compares scores. All bodies share it.

#include <cmath>
#include <cstdint>
#include <limits>

#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// What leaves the kernel.
enum class output : std::uint8_t {
  matrix,  // all scores, for a first threshold from a few tiles
  maxima,  // the largest scores of groups of columns, for a threshold from many tiles
  scored,  // survivors, with scores that are no lower than their own
  halves   // the same of a graph, of which each pair is multiplied once (half.cuh)
};

struct filter_args {
  rounded queries, corpus;
  global<const float> starts;      // [corpus tiles * tile_rows]
  global<const float> thresholds;  // [rows]; for output::scored and halves
  std::int64_t rows = 0;           // queries
  int slabs = 0, query_tiles = 0;
  int first_tile = 0, last_tile = 0;  // of the corpus
  int part = 0;                       // tiles of a piece: of a block, by mma_sync
  survivor_lists lists;
  // [query_tiles * tile_rows][matrix_pitch]: scores, or maxima_of_tile maxima of each group of
  // tiles
  global<float> matrix;
  std::int64_t matrix_pitch = 0;
  int group = 1;  // tiles of a group; for output::maxima a part is a multiple of it
  simt::product factors = simt::product::float16;  // of the vectors; not uint8
  // Of queries that differ in what they leave out: their bits, the vector of a position, the query
  // of a row. They stand last: what other kernels read keeps its place.
  admitted allowed;
  numbering vector_of, query_of;
  // [rows], for output::halves: at most the threshold of the row and of every row that follows
  // (half_order.cuh).
  global<const float> bounds;
  // For output::halves: of every `shares` blocks the one of that number.
  int share = 0, shares = 1;
  // Of the bodies by wgmma: the pieces of the work in all. Blocks take them in turns.
  int pieces = 0;
  // Of a pass for a first threshold: counters that it zeroes for later kernels. No data: none.
  global<std::uint32_t> zeroed;
};

// The first block's threads zero the counters. To start a kernel for so few takes longer than to
// zero them.
template <class Simt>
KSELECT_HD void zero_counters(Simt& simt, const filter_args& a) {
  if (simt.block() == 0 && simt.thread() < a.zeroed.size) simt.store(a.zeroed, simt.thread(), 0);
}

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
  // The start of a pair, from those of its two vectors. What either leaves out or keeps stays so;
  // -inf goes before +inf.
  KSELECT_HD static sum start_of_pair(sum a, sum b) {
    if constexpr (integers) {
      if (a < -beyond_all || b < -beyond_all) return -2 * beyond_all;
      if (a > beyond_all || b > beyond_all) return 2 * (beyond_all - 1);
    }
    return a + b;
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

}  // namespace kselect::search::fused
