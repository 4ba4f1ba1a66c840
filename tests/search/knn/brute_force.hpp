#pragma once
// An independent brute force in long double, from the metrics' definitions, and the check of a k-NN
// answer against it: who is among the k nearest, in which order, and the printed distances.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/distance/distance.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::search::brute_force {

using runtime::metric;
using runtime::vector_set;

inline vector_set make_set(std::int64_t dimension, std::vector<float> data) {
  vector_set set;
  set.dimension = dimension;
  set.count = static_cast<std::int64_t>(data.size()) / dimension;
  set.data = std::move(data);
  set.source = "test vectors";
  return set;
}

inline const float* row(const vector_set& set, std::int64_t i) {
  return set.data.data() + i * set.dimension;
}

// The distance before any rounding to float32.
inline long double distance(metric m, const float* x, const float* y, std::int64_t dimension) {
  long double mean_x = 0, mean_y = 0, xx = 0, yy = 0, square = 0;
  if (m == metric::inner_product) {
    for (std::int64_t c = 0; c < dimension; ++c) square += static_cast<long double>(x[c]) * y[c];
    return -square;
  }
  if (m == metric::pearson) {
    for (std::int64_t c = 0; c < dimension; ++c) mean_x += x[c], mean_y += y[c];
    mean_x /= static_cast<long double>(dimension);
    mean_y /= static_cast<long double>(dimension);
  }
  for (std::int64_t c = 0; c < dimension; ++c) {
    const long double a = x[c] - mean_x, b = y[c] - mean_y;
    xx += a * a, yy += b * b, square += (a - b) * (a - b);
  }
  if (m == metric::sqeuclidean) return square;
  if (m == metric::euclidean) return std::sqrt(square);
  if (xx == 0 || yy == 0) return 1;
  long double apart = 0;
  for (std::int64_t c = 0; c < dimension; ++c) {
    const long double difference =
        (x[c] - mean_x) / std::sqrt(xx) - (y[c] - mean_y) / std::sqrt(yy);
    apart += difference * difference;
  }
  return apart / 2;
}

struct answer {
  std::int64_t queries = 0, k = 0;
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
};

struct question {
  const vector_set& base;
  const vector_set* query = nullptr;  // null: the base
  bool exclude_self = false;
  metric m = metric::sqeuclidean;
};

using ranked = std::vector<std::pair<long double, std::int64_t>>;

// All candidates of a query, nearest first, ties by index.
inline ranked all_of(const question& q, std::int64_t i) {
  const vector_set& queries = q.query == nullptr ? q.base : *q.query;
  ranked all;
  for (std::int64_t j = 0; j < q.base.count; ++j) {
    if (q.exclude_self && i == j) continue;
    all.emplace_back(distance(q.m, row(queries, i), row(q.base, j), q.base.dimension), j);
  }
  std::ranges::sort(all);
  return all;
}

// |x| |y| of query i and base vector j.
inline long double lengths(const question& q, std::int64_t i, std::int64_t j) {
  const auto square = [&](const float* x) {
    return -distance(metric::inner_product, x, x, q.base.dimension);
  };
  const vector_set& queries = q.query == nullptr ? q.base : *q.query;
  return std::sqrt(square(row(queries, i)) * square(row(q.base, j)));
}

// Expects the right neighbours in the right order for every query. Distances that agree within
// `tolerance`, relative or as a multiple of the metric's unit for unit vectors or of |x| |y| for
// inner products, may stand in either
// order; 0: equal distances only by index.
inline void expect_right(const question& q, const answer& found, long double tolerance) {
  for (std::int64_t i = 0; i < found.queries; ++i) {
    const ranked all = all_of(q, i);
    std::vector<long double> of(static_cast<std::size_t>(q.base.count),
                                std::numeric_limits<long double>::quiet_NaN());
    for (const auto& [d, j] : all) of[static_cast<std::size_t>(j)] = d;
    const bool unit = q.m == metric::cosine || q.m == metric::pearson;
    std::vector<bool> seen(static_cast<std::size_t>(q.base.count));
    for (std::int64_t place = 0; place < found.k; ++place) {
      const auto at = static_cast<std::size_t>(i * found.k + place);
      const std::int64_t j = found.indices[at];
      ASSERT_TRUE(j >= 0 && j < q.base.count && !(q.exclude_self && j == i)) << "query " << i;
      ASSERT_FALSE(seen[static_cast<std::size_t>(j)]) << "query " << i << " has " << j << " twice";
      seen[static_cast<std::size_t>(j)] = true;
      const auto& [right, index] = all[static_cast<std::size_t>(place)];
      const long double got = of[static_cast<std::size_t>(j)];
      // What float64 sums of products may lose, which cancel.
      const long double products =
          q.m == metric::inner_product ? lengths(q, i, index) + lengths(q, i, j) : 0;
      if (tolerance == 0) {
        ASSERT_EQ(j, index) << "query " << i << ", place " << place;
      } else {
        ASSERT_LE(std::abs(got - right), tolerance * (products != 0 ? products
                                                      : unit        ? std::sqrt(right) + tolerance
                                                                    : std::abs(right)))
            << "query " << i << ", place " << place << ": " << j << " instead of " << index;
      }
      const auto rounded = static_cast<float>(got);
      if (std::isinf(rounded)) {
        ASSERT_EQ(found.distances[at], rounded) << "query " << i << ", place " << place;
        continue;
      }
      ASSERT_LE(std::abs(found.distances[at] - got),
                std::abs(std::nextafter(rounded, std::numeric_limits<float>::infinity()) - got) +
                    (unit ? 1e-17L : 1e-13L * products))
          << "query " << i << ", place " << place;
    }
  }
}

}  // namespace kselect::search::brute_force
