#pragma once
// A graph whose pairs of tiles are dealt to several searches of the same corpus (half_pairs.cuh),
// on a GPU each. Thresholds come from the whole corpus and are the same for all, and so is the
// order by them (half_memory). Then each pair is met by one search. The lists of one search hold
// what it met, so they may lack neighbours. But a vector nearer than what the threshold leaves out
// is certain to be in the answer of the search that met it.

#include "search/knn/fused/bounds.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// Writes how near a vector must be so that it certainly was found, as ranked; 0 if nothing is
// certain: finish_kernel then names the vector as unproven. It takes the number for a known
// distance: what is farther is not wanted.
struct certain_distance_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> squares, errors;  // of the rounded vectors, by row
    global<const float> thresholds;        // by row; of sums that lie lower by `offsets`
    global<const double> offsets;
    global<const corpus_facts> facts;
    numbering vector_of;  // row to vector
    std::int64_t count;
    bool unit;
    global<double> certain;  // [count], by vector
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (row >= a.count) return;
    const corpus_facts facts = simt.load(a.facts, 0);
    const query_facts x{simt.load(a.squares, row), simt.load(a.errors, row)};
    const double threshold =
        threshold_of_bound(simt.load(a.thresholds, row), simt.load(a.offsets, row));
    // A little less, so that finish_kernel finds it proven.
    const double nearest = nearest_left_out(facts, x, threshold) * (1 - 4e-9) / facts.scale;
    const double ranked = nearest > 0 ? nearest * nearest / (a.unit ? 2 : 1) : 0;
    simt.store(a.certain, a.vector_of(simt, row), ranked);
  }
};

// Nothing is certain of vectors whose list ran over.
struct none_certain_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const std::int32_t> ids;
    std::int64_t count;
    global<double> certain;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.count) return;
    simt.store(a.certain, simt.load(a.ids, i), -1);
  }
};

// How many of each vector's answers are near enough to be certain.
struct count_certain_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> certain;  // [count]
    global<const double> exact;    // [count][k], in order
    std::int64_t count, k;
    global<std::int32_t> counts;  // [count]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.count) return;
    const double certain = simt.load(a.certain, i);
    std::int32_t found = 0;
    while (found < a.k && simt.load(a.exact, i * a.k + found) <= certain) ++found;
    simt.store(a.counts, i, found);
  }
};

}  // namespace kselect::search::fused
