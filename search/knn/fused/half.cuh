#pragma once
// Kernels of a graph whose pairs are multiplied once. They compute the start of each sum and the
// limit for each score (docs/decisions/knn.md).
//
//     score(x, y) = x.y + start(x) + start(y),   about -|x - y|^2 / 2
//
// It is symmetric, so one score serves both vectors. A search with query x has scores higher by
// offset(x) = |x|^2 / 2, less what start(x) was raised by (prepare.cuh).

#include <cmath>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/half_order.cuh"
#include "search/knn/fused/prepare.cuh"

namespace kselect::search::fused {

// Starts and offsets of all positions, facts with the error of these sums, empty lists and buckets,
// and nothing unproven yet.
struct half_start_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    rounded corpus;
    std::int64_t count, padded;
    global<const corpus_facts> facts;
    double sum_error;                   // A' of these sums
    global<corpus_facts> of_sums;       // the facts, with it
    global<float> starts;               // [padded]
    global<double> offsets;             // [padded]
    global<std::uint32_t> list_counts;  // [padded]
    global<std::uint32_t> unproven;     // set to 0; or no data
    limit_buckets buckets;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.padded) return;
    corpus_facts facts = simt.load(a.facts, 0);
    facts.sum_error = a.sum_error;
    if (i == 0) simt.store(a.of_sums, 0, facts);
    if (i < a.unproven.size) simt.store(a.unproven, i, 0);
    simt.store(a.list_counts, i, 0);
    for (std::int64_t b = i; b < a.buckets.counts.size; b += a.padded) a.buckets.clear(simt, b);
    const bool inside = i < a.count;
    const double square = inside ? simt.load(a.corpus.squares, i) : 0;
    const double error = inside ? simt.load(a.corpus.errors, i) : 0;
    simt.store(a.starts, i,
               inside ? start_for(facts, square, error) : -std::numeric_limits<float>::infinity());
    simt.store(a.offsets, i, square / 2 - raised_by(facts, error));
  }
};

// From thresholds of a search to limits of these scores, and the range of those that are finite.
// +inf, which nothing passes, beyond the count and for a vector whose error is unknown: float64
// finds its neighbours.
struct half_limit_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    global<const float> starts;
    global<float> thresholds;  // [padded]: of searches; becomes limits
    std::int64_t padded, count;
    limit_buckets buckets;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    const float limit = i < a.padded ? limit_of(simt, a, i) : without_limit;
    if (i < a.padded) simt.store(a.thresholds, i, limit);
    a.buckets.widen(simt, limit);
  }

 private:
  template <class Simt>
  KSELECT_HD static float limit_of(Simt& simt, const args& a, std::int64_t i) {
    if (i >= a.count) return without_limit;
    const float limit = simt.load(a.thresholds, i) + simt.load(a.starts, i);
    return std::fabs(limit) < without_limit ? limit : without_limit;
  }
};

}  // namespace kselect::search::fused
