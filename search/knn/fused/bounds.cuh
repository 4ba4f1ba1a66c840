#pragma once
// Device code: what a threshold says of the distances of vectors that are left out, and the reverse
// (docs/decisions/knn.md).

#include <cmath>
#include <limits>

#include "search/knn/fused/inner.cuh"

namespace kselect::search::fused {

// The rounded query and its threshold, for bounds.
struct query_facts {
  double square, error;
};

// How much a score may lack beyond the starts' share, because the query is longer than usual.
KSELECT_HD inline double lacking(const corpus_facts& c, const query_facts& x) {
  const double beyond = std::sqrt(x.square) - c.usual_norm;
  return beyond > 0 ? c.sum_error * beyond * c.largest_norm : 0;
}

// No vector with a score of at most `threshold` is nearer, in scaled images. Negative: unknown.
KSELECT_HD inline double nearest_left_out(const corpus_facts& c, const query_facts& x,
                                          double threshold) {
  const double rounding = 0x1p-45 * (x.square + 2 * std::fabs(threshold));
  const double square = x.square - 2 * threshold - 2 * lacking(c, x) - rounding;
  if (!(square >= 0)) return -1;
  const double root = std::sqrt(square);
  return root - x.error - (root <= c.reach ? c.usual_error : c.largest_error);
}

// The reverse: a threshold that every vector at most `distance` away exceeds. +inf if there is
// none: then nothing passes, and float64 decides.
KSELECT_HD inline float threshold_for(const corpus_facts& c, const query_facts& x,
                                      double distance) {
  double root = (distance * (1 + 1e-8) + x.error + c.usual_error) * (1 + 1e-8);
  if (!(root <= c.reach)) {
    root = (distance * (1 + 1e-8) + x.error + c.largest_error) * (1 + 1e-8);
  }
  double t = (x.square - root * root) / 2 - lacking(c, x);
  t -= 0x1p-20 * std::fabs(t) + 0x1p-44 * x.square;  // of float32, and of nearest_left_out
  return std::fabs(t) <= 1e38 ? static_cast<float>(t) : std::numeric_limits<float>::infinity();
}

// A ranked distance between scaled images. `unit`: of unit vectors, whose number is half a square.
KSELECT_HD inline double scaled(const corpus_facts& c, bool unit, double ranked) {
  return c.scale * std::sqrt(unit ? 2 * ranked : ranked);
}

// A threshold that every vector exceeds whose number is at most `ranked`, which is finite; +inf if
// there is none.
template <bool products, class Simt>
KSELECT_HD float threshold_up_to(Simt& simt, const inner_queries& inner, const corpus_facts& c,
                                 const query_facts& x, std::int64_t query, bool unit,
                                 double ranked) {
  if constexpr (products) {
    return inner_threshold(inner_reach(simt, inner, c, x.error, query, ranked));
  } else {
    return threshold_for(c, x, scaled(c, unit, ranked));
  }
}

// Scores of a graph's pairs lie below those of a search by an offset of the query's (half.cuh).
// What float64 may lose between them:
KSELECT_HD inline double slack_of(double threshold, double offset) {
  return offset == 0 ? 0 : 0x1p-50 * (std::fabs(threshold) + std::fabs(offset));
}
// A threshold of the bound as those scores have it, not above it; and the reverse, not below.
KSELECT_HD inline float threshold_of_lists(float threshold, double offset) {
  if (offset == 0) return threshold;
  return -float_above(slack_of(threshold, offset) + offset - threshold);
}
KSELECT_HD inline double threshold_of_bound(float threshold, double offset) {
  return threshold + offset + slack_of(threshold, offset);
}

}  // namespace kselect::search::fused
