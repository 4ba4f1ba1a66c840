#pragma once
// The check of a k-NN answer against a search that tries every vector (tried.hpp): who is among the
// k nearest, in which order, and the printed distances.

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
#include "tests/search/knn/tried.hpp"

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

inline std::span<const float> row(const vector_set& set, std::int64_t i) {
  return std::span(set.data).subspan(static_cast<std::size_t>(i * set.dimension),
                                     static_cast<std::size_t>(set.dimension));
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
    all.emplace_back(tried::distance(q.m, row(queries, i), row(q.base, j)), j);
  }
  std::ranges::sort(all);
  return all;
}

// |x| |y| of query i and base vector j.
inline long double lengths(const question& q, std::int64_t i, std::int64_t j) {
  const auto square = [](std::span<const float> x) { return tried::product_of(x, x).value; };
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
