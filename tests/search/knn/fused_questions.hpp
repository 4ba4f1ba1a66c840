#pragma once
// Questions to the fused search on fibers, and a check of every answer against what tried.hpp
// finds.

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "tests/search/knn/tried.hpp"

namespace kselect::search::fused {

struct vectors {
  std::int64_t count = 0, dimension = 0;
  std::vector<float> data;

  std::span<const float> operator[](std::int64_t i) const {
    return std::span(data).subspan(static_cast<std::size_t>(i * dimension),
                                   static_cast<std::size_t>(dimension));
  }
  float& at(std::int64_t i, std::int64_t c) {
    return data[static_cast<std::size_t>(i * dimension + c)];
  }
};

inline vectors filled(std::int64_t count, std::int64_t dimension,
                      const std::function<float()>& next) {
  vectors made{count, dimension, std::vector<float>(static_cast<std::size_t>(count * dimension))};
  std::ranges::generate(made.data, next);
  return made;
}
inline vectors normal(std::int64_t count, std::int64_t dimension, unsigned seed, float centre = 0,
                      float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> value(centre, spread);
  return filled(count, dimension, [&] { return value(bits); });
}
inline vectors bytes(std::int64_t count, std::int64_t dimension, unsigned seed, int most = 255,
                     int least = 0) {
  std::mt19937 bits(seed);
  std::uniform_int_distribution<int> value(least, most);
  return filled(count, dimension, [&] { return static_cast<float>(value(bits)); });
}

struct question {
  vectors base, query;
  std::int64_t k = 10;
  runtime::metric metric = runtime::metric::sqeuclidean;
  bool leaves_self_out = false;  // then the queries are the first base vectors
  simt::product factors = simt::product::float16;
  bool half_product = false;  // then the queries are all base vectors
  std::size_t step = 1;       // every so many-th query is checked
  simt::fiber_options fiber = {};
  std::function<void(vectors&)> changes = {};  // what becomes of the base once it is prepared
  bool lends = false;  // the queries are the base vectors, in the same memory
};

struct answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
  std::vector<stage> stages;
  bool half_product = false;
};

inline answer search(const question& q, std::int64_t calls = 1) {
  vectors base = q.base;
  const auto place = runtime::open_host_backend(executor_kind::fiber, 2, q.fiber);
  answer found;
  const auto size = static_cast<std::size_t>(q.query.count * q.k);
  found.indices.assign(size, -7);
  found.distances.assign(size, -7);
  found.exact.assign(size, -7);
  const stage_clock clock = [&](stage s, const std::function<void()>& work) {
    found.stages.push_back(s);
    work();
  };
  prepared_corpus corpus(*place, base.data.data(), base.count, base.dimension, q.metric, q.factors);
  corpus.prepare(clock);
  if (q.changes) q.changes(base);
  fused_search nearest(*place, corpus, q.query.count, q.k, q.leaves_self_out,
                       {.half_product = q.half_product});
  found.half_product = nearest.plan().half.taken();
  const auto rows = static_cast<std::int64_t>(size);
  for (std::int64_t call = 0; call < calls; ++call) {
    found.report = nearest.run(q.lends ? base.data.data() : q.query.data.data(), q.query.count, 0,
                               {.indices = {found.indices.data(), rows},
                                .distances = {found.distances.data(), rows},
                                .exact = {found.exact.data(), rows},
                                .k = q.k,
                                .root = q.metric == runtime::metric::euclidean},
                               clock);
  }
  return found;
}

// Distances that differ by less may change places: float64 does not resolve them.
inline long double resolution(runtime::metric m, long double right) {
  return tried::has_unit_images(m) ? 1e-14L : right * 1e-13L;
}

// The distance that is shown: rounded to float32.
inline void expect_shown(float shown, long double right, runtime::metric m) {
  const auto rounded =
      static_cast<float>(m == runtime::metric::euclidean ? std::sqrt(right) : right);
  if (std::isinf(rounded)) {
    ASSERT_EQ(shown, rounded);
  } else {
    ASSERT_NEAR(shown, rounded, rounded * 1.3e-7F + (tried::has_unit_images(m) ? 1e-14F : 0.0F));
  }
}

// Place j of a row: `own` is the distance of the vector that was found.
inline void expect_place(const question& q, const answer& found, std::size_t at,
                         std::span<const tried::measured> all, std::size_t j, long double own) {
  const long double right = all[j].first, close = resolution(q.metric, right);
  ASSERT_NEAR(found.exact[at], static_cast<double>(right), static_cast<double>(close));
  ASSERT_LE(std::fabs(own - right), close);
  if (close == 0 || q.metric == runtime::metric::sqeuclidean) {
    const bool tied = (j > 0 && all[j - 1].first >= right - close) ||
                      (j + 1 < all.size() && all[j + 1].first <= right + close);
    if (!tied || close == 0) {
      ASSERT_EQ(found.indices[at], all[j].second);
    }
  }
  expect_shown(found.distances[at], right, q.metric);
}

// Ties come in the order of indices, each vector once.
inline void expect_order(const answer& found, std::size_t first, std::size_t k) {
  for (std::size_t at = first + 1; at < first + k; ++at) {
    ASSERT_LE(found.exact[at - 1], found.exact[at]);
    if (found.exact[at - 1] == found.exact[at]) {
      ASSERT_LT(found.indices[at - 1], found.indices[at]) << "place " << at - first;
    }
  }
}

// Every query's neighbours are those of the exhaustive search.
inline void expect_nearest(const question& q, const answer& found) {
  std::vector<tried::image> base;
  for (std::int64_t i = 0; i < q.base.count; ++i)
    base.push_back(tried::image_of(q.base[i], q.metric));
  const auto k = static_cast<std::size_t>(q.k);
  for (std::size_t i = 0; i < static_cast<std::size_t>(q.query.count); i += q.step) {
    const auto row = static_cast<std::int64_t>(i);
    const tried::image query = tried::image_of(q.query[row], q.metric);
    const std::vector<tried::measured> all =
        tried::nearest(base, query, q.metric, k + 1, {.itself = q.leaves_self_out ? row : -1});
    for (std::size_t j = 0; j < k; ++j) {
      SCOPED_TRACE(testing::Message() << "query " << i << ", place " << j);
      const std::int64_t index = found.indices[i * k + j];
      ASSERT_TRUE(index >= 0 && index < q.base.count) << index;
      expect_place(q, found, i * k + j, all, j,
                   tried::distance(query, base[static_cast<std::size_t>(index)], q.metric));
      if (testing::Test::HasFatalFailure()) return;
    }
    SCOPED_TRACE(testing::Message() << "query " << i);
    expect_order(found, i * k, k);
    if (testing::Test::HasFatalFailure()) return;
  }
}

inline answer expect_exhaustive(const question& q) {
  answer found = search(q);
  expect_nearest(q, found);
  EXPECT_EQ(found.report.queries, q.query.count);
  return found;
}

}  // namespace kselect::search::fused
