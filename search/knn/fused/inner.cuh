#pragma once
// Device code of the inner product: what scores start with, and what proves an answer.
//
// The largest products are wanted. A query's length does not change their order. So queries are
// rounded as unit vectors, scaled by query_length. The corpus is moved by its centre c, as in other
// metrics: that changes a query's products by the same number, x.c. Thus a score is about
//
//     F (x.y - x.c) / |x|,   F = query_length * S.
//
// Starts are raised so far that no product is beyond its score (docs/decisions/knn.md). A vector
// that is left out has a score of at most the threshold, and so has its product, but for the terms
// that depend on the query alone. These are in inner_reach.

#include <cmath>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/prepare.cuh"

namespace kselect::search::fused {

inline constexpr double query_length = 1024;   // components from there: float16 has no larger one
inline constexpr double longest_query = 1025;  // P: of rounded queries
inline constexpr double usual_query_error = query_length * 0x1p-12;
// The error of a float64 sum of products, relative to |x| |y|: at most 4096 terms on 32 lanes.
inline constexpr double inner_sum_error = 0x1p-44;

// The queries' centre, which is 0, and scale; and the length of the corpus' centre. One warp.
struct inner_facts_kernel {
  using storage = no_storage;
  static constexpr int max_threads = simt::warp_size;
  struct args {
    global<const float> centre;
    std::int64_t dimension;
    global<float> of_queries;    // [dimension]
    global<corpus_facts> facts;  // of the queries
    global<double> centre_norm;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    double square = 0;
    for (std::int64_t c = simt.lane(); c < a.dimension; c += simt::warp_size) {
      const double component = simt.load(a.centre, c);
      square = std::fma(component, component, square);
      simt.store(a.of_queries, c, 0);
    }
    square = warp_sum(simt, square);
    if (simt.lane() != 0) return;
    corpus_facts facts;
    facts.scale = query_length;
    simt.store(a.facts, 0, facts);
    simt.store(a.centre_norm, 0, std::sqrt(square) * (1 + 1e-9));
  }
};

// x.c / |x| of each query. One warp a query.
struct centre_product_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    image_source queries;  // unit vectors
    std::int64_t count;
    global<const float> centre;
    global<double> offsets;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.warps() + simt.warp();
    if (i >= a.count) return;  // the whole warp
    const image_row x = image_of(simt, a.queries, i);
    const double share = share_of_product(simt, {x.raw}, {a.centre}, a.queries.dimension);
    const double product = warp_sum(simt, share);
    if (simt.lane() == 0) simt.store(a.offsets, i, product * x.scale);
  }
};

// Where a score starts: raised by what rounding of either vector, the sum of products and the
// float64 sum could hide, for a query of length P whose error is usual. -inf beyond the count.
struct inner_start_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  using args = start_kernel::args;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.padded) return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (i >= a.count) return simt.store(a.starts, i, -infinity);
    const double norm = std::sqrt(simt.load(a.corpus.squares, i));
    const double error = simt.load(a.corpus.errors, i);
    const double raised = longest_query * error +
                          (usual_query_error + longest_query * inner_sum_error) * (norm + error);
    const double start = raised + simt.load(a.facts, 0).sum_error * (raised + longest_query * norm);
    simt.store(a.starts, i, start == start ? float_above(start * (1 + 1e-9)) : infinity);
  }
};

// Minus the score that every vector whose product is at least -distance reaches. +inf: unknown.
template <class Simt>
KSELECT_HD double inner_reach(Simt& simt, const inner_queries& inner, const corpus_facts& facts,
                              double query_error, std::int64_t query, double distance) {
  const double unit = query_length * facts.scale;
  const double product = -distance * simt.load(inner.scales, query);
  const double offset = simt.load(inner.offsets, query);
  const double beyond = std::fmax(0.0, query_error - usual_query_error);
  const double lacking = beyond * (facts.largest_norm + facts.largest_error) * (1 + 1e-9);
  const double rounding = 0x1p-47 * (std::fabs(product) + std::fabs(offset)) +
                          3 * inner_sum_error * simt.load(inner.centre_norm, 0);
  const double reach = lacking - unit * (product - offset - rounding);
  return reach == reach ? reach : std::numeric_limits<double>::infinity();
}

// The reverse: a threshold that they exceed. +inf if there is none.
KSELECT_HD inline float inner_threshold(double reach) {
  const double score = -reach;
  const double below = score - 0x1p-22 * std::fabs(score) - 1e-30;
  return std::fabs(below) <= 1e38 ? static_cast<float>(below)
                                  : std::numeric_limits<float>::infinity();
}

// Thresholds for queries that are done again, as again_kernel.
struct inner_again_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    global<const double> reach;
    global<float> thresholds;
    std::int64_t rows;
    bool leaves_out;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (row >= a.rows) return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const double reach = simt.load(a.reach, row);
    if (a.leaves_out && reach > std::numeric_limits<double>::max()) {
      return simt.store(a.thresholds, row, -infinity);
    }
    simt.store(a.thresholds, row, inner_threshold(reach));
  }
};

}  // namespace kselect::search::fused
