#pragma once
// Thresholds from a search of other vectors: where a query has k neighbours already, only vectors
// that are at most as far as the k-th can be among its nearest.
//
// A threshold that every vector up to there exceeds is certain to be enough, as again_kernel's is.
// It replaces a lower one. What it leaves out is farther, so the proof counts it as it counts the
// k-th survivor (finish.cuh).

#include "search/knn/fused/finish.cuh"

namespace kselect::search::fused {

template <bool products>
struct known_kernel_of {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> known;            // [queries]: of a k-th neighbour, as ranked; +inf: none
    numbering query_of;                    // row to query
    global<const double> squares, errors;  // of the rounded queries, by row
    global<const corpus_facts> facts;
    global<float> thresholds;
    std::int64_t rows;
    bool unit;
    inner_queries inner = {};
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (row >= a.rows) return;
    const std::int64_t query = a.query_of(simt, row);
    const double distance = simt.load(a.known, query);
    if (!(distance <= std::numeric_limits<double>::max())) return;
    const corpus_facts facts = simt.load(a.facts, 0);
    const query_facts x{simt.load(a.squares, row), simt.load(a.errors, row)};
    const float threshold =
        threshold_up_to<products>(simt, a.inner, facts, x, query, a.unit, distance);
    // Not: the one that nothing passes.
    if (threshold > simt.load(a.thresholds, row) &&
        threshold < std::numeric_limits<float>::infinity()) {
      simt.store(a.thresholds, row, threshold);
    }
  }
};

}  // namespace kselect::search::fused
