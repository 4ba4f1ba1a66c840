#pragma once
// Where a search leaves vectors out, beside the filter: in the starts of scores and in the matrix
// of the first scores. -inf is the score of what is left out, and no threshold is below it. A query
// with too few admitted scores thus gets the threshold -inf, which all admitted vectors exceed.

#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// The starts of a search whose queries all leave the same vectors out.
struct admitted_starts_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const float> starts;  // [padded], of the corpus
    numbering vector_of;
    std::int64_t count, padded;
    admitted allowed;
    global<float> to;  // [padded]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.padded) return;
    const bool in = i < a.count && a.allowed(simt, 0, a.vector_of(simt, i));
    simt.store(a.to, i, in ? simt.load(a.starts, i) : -std::numeric_limits<float>::infinity());
  }
};

// Takes what each query leaves out of its row of first scores, so that thresholds count admitted
// vectors alone.
struct allowed_scores_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    admitted allowed;
    numbering query_of, vector_of;
    std::int64_t rows, columns;
    global<float> matrix;  // [rows][columns]; column c is position c
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.rows * a.columns) return;
    const std::int64_t query = a.query_of(simt, i / a.columns);
    if (a.allowed(simt, query, a.vector_of(simt, i % a.columns))) return;
    simt.store(a.matrix, i, -std::numeric_limits<float>::infinity());
  }
};

}  // namespace kselect::search::fused
