// The fused search on fibers against a search that tries every vector in float64: all metrics,
// sizes around tiles and slabs, and data that its filter, its error bound or its lists cannot
// handle.

#include "search/knn/fused/fused_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace kselect::search::fused {
namespace {

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

vectors filled(std::int64_t count, std::int64_t dimension, const std::function<float()>& next) {
  vectors made{count, dimension, std::vector<float>(static_cast<std::size_t>(count * dimension))};
  std::ranges::generate(made.data, next);
  return made;
}
vectors normal(std::int64_t count, std::int64_t dimension, unsigned seed, float centre = 0,
               float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> value(centre, spread);
  return filled(count, dimension, [&] { return value(bits); });
}
vectors bytes(std::int64_t count, std::int64_t dimension, unsigned seed, int most = 255,
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
};

struct answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
  std::vector<stage> stages;
};

answer search(const question& q, std::int64_t calls = 1) {
  const auto place = runtime::open_backend(executor_kind::fiber, 2);
  answer found;
  const auto size = static_cast<std::size_t>(q.query.count * q.k);
  found.indices.assign(size, -7);
  found.distances.assign(size, -7);
  found.exact.assign(size, -7);
  const stage_clock clock = [&](stage s, const std::function<void()>& work) {
    found.stages.push_back(s);
    work();
  };
  prepared_corpus corpus(*place, q.base.data.data(), q.base.count, q.base.dimension, q.metric,
                         q.factors);
  corpus.prepare(clock);
  fused_search nearest(*place, corpus, q.query.count, q.k, q.leaves_self_out);
  const auto rows = static_cast<std::int64_t>(size);
  for (std::int64_t call = 0; call < calls; ++call) {
    found.report = nearest.run(q.query.data.data(), q.query.count, 0,
                               {.indices = {found.indices.data(), rows},
                                .distances = {found.distances.data(), rows},
                                .exact = {found.exact.data(), rows},
                                .k = q.k,
                                .root = q.metric == runtime::metric::euclidean},
                               clock);
  }
  return found;
}

// A vector's image in long double, by the definition in runtime/distance/distance.hpp.
struct image {
  std::vector<long double> components;
  bool directed = true;
};
image image_of(std::span<const float> x, runtime::metric m) {
  image made{{x.begin(), x.end()}};
  if (m != runtime::metric::cosine && m != runtime::metric::pearson) return made;
  long double mean = 0, square = 0;
  for (const float c : x) mean += c;
  mean = m == runtime::metric::pearson ? mean / static_cast<long double>(x.size()) : 0;
  for (long double& c : made.components) {
    c -= mean;
    square += c * c;
  }
  made.directed = square != 0;
  for (long double& c : made.components) c = made.directed ? c / std::sqrt(square) : 0;
  return made;
}
long double distance(const image& x, const image& y, runtime::metric m) {
  long double sum = 0;
  for (std::size_t c = 0; c < x.components.size(); ++c) {
    sum += (x.components[c] - y.components[c]) * (x.components[c] - y.components[c]);
  }
  if (m != runtime::metric::cosine && m != runtime::metric::pearson) return sum;
  return x.directed && y.directed ? sum / 2 : 1;
}

std::vector<image> images_of(const vectors& set, runtime::metric m) {
  std::vector<image> all;
  for (std::int64_t i = 0; i < set.count; ++i) all.push_back(image_of(set[i], m));
  return all;
}

// Every query's neighbours are those of the exhaustive search. Distances that differ by less than
// float64 resolves may change places.
void expect_nearest(const question& q, const answer& found) {
  const std::vector<image> base = images_of(q.base, q.metric), query = images_of(q.query, q.metric);
  const bool unit = q.metric == runtime::metric::cosine || q.metric == runtime::metric::pearson;
  for (std::size_t i = 0; i < query.size(); ++i) {
    std::vector<std::pair<long double, std::int64_t>> all;
    for (std::size_t j = 0; j < base.size(); ++j) {
      if (q.leaves_self_out && i == j) continue;
      all.emplace_back(distance(query[i], base[j], q.metric), static_cast<std::int64_t>(j));
    }
    std::ranges::sort(all);
    for (std::size_t j = 0; j < static_cast<std::size_t>(q.k); ++j) {
      const std::size_t at = i * static_cast<std::size_t>(q.k) + j;
      const std::int64_t index = found.indices[at];
      ASSERT_TRUE(index >= 0 && index < q.base.count) << "query " << i << ", place " << j;
      const long double right = all[j].first;
      const long double close = unit ? 1e-14L : right * 1e-13L;
      ASSERT_NEAR(found.exact[at], static_cast<double>(right), static_cast<double>(close))
          << "query " << i << ", place " << j;
      const long double own = distance(query[i], base[static_cast<std::size_t>(index)], q.metric);
      ASSERT_LE(std::fabs(own - right), close) << "query " << i << ", place " << j;
      if (close == 0 || q.metric == runtime::metric::sqeuclidean) {
        const bool tied = (j > 0 && all[j - 1].first >= right - close) ||
                          (j + 1 < all.size() && all[j + 1].first <= right + close);
        if (!tied || close == 0) {
          ASSERT_EQ(index, all[j].second) << "query " << i << ", place " << j;
        }
      }
      const long double shown = q.metric == runtime::metric::euclidean ? std::sqrt(right) : right;
      const auto rounded = static_cast<float>(shown);
      if (std::isinf(rounded)) {
        ASSERT_EQ(found.distances[at], rounded);
      } else {
        ASSERT_NEAR(found.distances[at], rounded, rounded * 1.3e-7F + (unit ? 1e-14F : 0.0F));
      }
    }
    // Ties come in the order of indices, each vector once.
    for (std::size_t j = 1; j < static_cast<std::size_t>(q.k); ++j) {
      const std::size_t at = i * static_cast<std::size_t>(q.k) + j;
      ASSERT_LE(found.exact[at - 1], found.exact[at]);
      if (found.exact[at - 1] == found.exact[at]) {
        ASSERT_LT(found.indices[at - 1], found.indices[at]) << "query " << i << ", place " << j;
      }
    }
  }
}

answer expect_right(const question& q) {
  answer found = search(q);
  expect_nearest(q, found);
  EXPECT_EQ(found.report.queries, q.query.count);
  return found;
}

TEST(fused_search, finds_the_nearest_by_products) {
  for (const std::int64_t dimension : {1, 3, 64, 65, 128, 130}) {
    SCOPED_TRACE(dimension);
    const answer found = expect_right({normal(4500, dimension, 1), normal(130, dimension, 2), 10});
    if (dimension < 64) continue;  // near the limit of float16 in few dimensions
    EXPECT_EQ(found.report.by_float64, 0);
    EXPECT_LE(found.report.again, 13);
    EXPECT_LT(found.report.survivors, 130 * 300);
  }
}

TEST(fused_search, sharpens_its_threshold_where_the_corpus_is_large) {
  const question q{normal(36'000, 16, 3), normal(20, 16, 4), 20};
  const answer found = expect_right(q);
  const search_plan plan = plan_search({q.base.count, 20, 16, 20}, device{});
  EXPECT_GT(plan.first.tiles(), 0);
  EXPECT_EQ(found.report.by_float64, 0);
}

TEST(fused_search, has_all_metrics) {
  using runtime::metric;
  for (const metric m : {metric::sqeuclidean, metric::euclidean, metric::cosine, metric::pearson}) {
    SCOPED_TRACE(to_string(m));
    question q{normal(4200, 70, 5, 3), normal(40, 70, 6, 3), 7, m};
    // Without direction: a zero vector and a constant one, on both sides.
    for (std::int64_t c = 0; c < 70; ++c) {
      q.base.at(17, c) = q.query.at(3, c) = 0;
      q.base.at(4000, c) = q.query.at(5, c) = 2.5F;
    }
    expect_right(q);
  }
}

TEST(fused_search, leaves_the_query_out) {
  question q{normal(4300, 66, 7), {}, 5};
  q.query = {140, 66, {q.base.data.begin(), q.base.data.begin() + 140 * 66}};
  q.leaves_self_out = true;
  const answer found = expect_right(q);
  for (std::size_t i = 0; i < 140; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_NE(found.indices[i * 5 + j], static_cast<std::int64_t>(i));
    }
  }
}

TEST(fused_search, serves_small_problems) {
  for (const std::int64_t n : {1, 2, 127, 129, 1000}) {
    expect_right({normal(n, 9, 8), normal(3, 9, 9), std::min<std::int64_t>(n, 12)});
  }
  question q{normal(9, 5, 10), {}, 8};
  q.query = q.base;
  q.leaves_self_out = true;
  expect_right(q);
}

TEST(fused_search, keeps_bytes_exact) {
  const answer found = expect_right({bytes(4200, 96, 11), bytes(30, 96, 12), 10});
  EXPECT_EQ(found.report.by_float64, 0);
  // Many equal distances: ties by index, also with the k-th.
  expect_right({bytes(4200, 6, 13, 3), bytes(30, 6, 14, 3), 10});
}

question in_integers(vectors base, vectors query, std::int64_t k, bool self = false) {
  return {std::move(base),    std::move(query), k, runtime::metric::sqeuclidean, self,
          simt::product::int8};
}

TEST(fused_search, multiplies_bytes_in_integers) {
  for (const std::int64_t dimension : {1, 31, 128, 130, 300}) {
    SCOPED_TRACE(dimension);
    const answer found =
        expect_right(in_integers(bytes(4200, dimension, 11), bytes(130, dimension, 12), 10));
    if (dimension > 1) {
      EXPECT_EQ(found.report.by_float64, 0);
      EXPECT_LE(found.report.again, 13);
    }
  }
  const answer of_signed =
      expect_right(in_integers(bytes(4200, 40, 13, 127, -128), bytes(30, 40, 14, 127, -128), 10));
  EXPECT_EQ(of_signed.report.by_float64, 0);
  expect_right(in_integers(bytes(36'000, 20, 15), bytes(20, 20, 16), 10));
  expect_right(in_integers(bytes(4200, 6, 13, 3), bytes(30, 6, 14, 3), 10));
  const vectors base = bytes(4300, 20, 17);
  expect_right(in_integers(base, {50, 20, {base.data.begin(), base.data.begin() + 1000}}, 5, true));
}

// They are found in float64.
TEST(fused_search, finds_what_are_no_bytes_by_integers_too) {
  expect_right(in_integers(normal(4200, 20, 18), normal(5, 20, 19), 10));
  expect_right(in_integers(bytes(4200, 20, 20), bytes(5, 20, 21, 1000, -1000), 10));
  question q = in_integers(bytes(4200, 20, 22), bytes(5, 20, 23), 10);
  q.base.at(4000, 3) = 1e30F;
  q.query.at(2, 1) = 300;
  expect_right(q);
  q.metric = runtime::metric::cosine;
  EXPECT_THROW(search(q), runtime::error);
}

TEST(fused_search, proves_what_is_far_from_the_origin) {
  const answer found = expect_right({normal(4200, 64, 15, 1000), normal(20, 64, 16, 1000), 10});
  EXPECT_EQ(found.report.by_float64, 0);
}

TEST(fused_search, answers_when_all_vectors_are_equal) {
  question q{filled(4200, 8, [] { return 0.7F; }), normal(5, 8, 17), 10};
  for (std::int64_t c = 0; c < 8; ++c) q.query.at(2, c) = 0.7F;
  const answer found = expect_right(q);
  EXPECT_EQ(found.report.by_float64, 5);
  for (std::size_t j = 0; j < 10; ++j) EXPECT_EQ(found.indices[j], static_cast<std::int64_t>(j));
}

TEST(fused_search, answers_in_clusters) {
  std::mt19937 bits(18);
  question q{normal(4200, 40, 19, 0, 1e-4F), normal(40, 40, 20, 0, 1e-4F), 10};
  const vectors centres = normal(12, 40, 21, 0, 50);
  for (vectors* const set : {&q.base, &q.query}) {
    for (std::int64_t i = 0; i < set->count; ++i) {
      const auto centre = static_cast<std::int64_t>(bits() % 12);
      for (std::int64_t c = 0; c < 40; ++c) {
        set->at(i, c) += centres[centre][static_cast<std::size_t>(c)];
      }
    }
  }
  expect_right(q);
}

TEST(fused_search, does_not_depend_on_the_order_of_the_corpus) {
  question q{normal(4200, 64, 22), normal(20, 64, 23), 10};
  std::vector<std::vector<float>> rows;
  for (std::int64_t i = 0; i < q.base.count; ++i) {
    rows.emplace_back(q.base[i].begin(), q.base[i].end());
  }
  std::ranges::sort(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i], q.base.data.begin() + static_cast<std::ptrdiff_t>(i * 64));
  }
  const answer found = expect_right(q);
  EXPECT_EQ(found.report.by_float64, 0);
}

TEST(fused_search, answers_with_outliers_and_at_extreme_scales) {
  for (const float outlier : {1e3F, 1e8F, 1e30F, 3e38F}) {
    SCOPED_TRACE(outlier);
    question q{normal(4200, 64, 24), normal(20, 64, 25), 10};
    for (std::int64_t c = 0; c < 64; ++c) q.base.at(100, c) = q.query.at(7, c) = outlier;
    const answer found = expect_right(q);
    if (outlier == 1e3F) {
      EXPECT_LE(found.report.by_float64, 1);
    }
  }
  for (const float scale : {1e-42F, 1e-38F, 1e-20F, 1e18F, 1e36F}) {
    SCOPED_TRACE(scale);
    question q{normal(4200, 64, 26), normal(10, 64, 27), 10};
    for (vectors* const set : {&q.base, &q.query}) {
      for (float& x : set->data) x *= scale;
    }
    const answer found = expect_right(q);
    if (scale > 1e-38F) {
      EXPECT_EQ(found.report.by_float64, 0);
    }
  }
}

TEST(fused_search, answers_with_many_copies_of_the_kth) {
  question q{normal(4200, 64, 28), {}, 10};
  q.query = {6, 64, {q.base.data.begin(), q.base.data.begin() + 6 * 64}};
  for (std::int64_t i = 100; i < 4100; ++i) {
    for (std::int64_t c = 0; c < 64; ++c) q.base.at(i, c) = q.base.at(i % 40 + 50, c);
  }
  expect_right(q);
}

// A vector with a NaN follows all others, and one at infinity follows those at finite distances.
TEST(fused_search, puts_vectors_that_are_not_finite_last) {
  question q{normal(4200, 64, 29), normal(5, 64, 30), 10};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  q.base.at(7, 3) = std::numeric_limits<float>::quiet_NaN();
  q.base.at(8, 4) = infinity;
  q.query.at(3, 0) = infinity;
  const answer found = search(q);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 10; ++j) {
      const double exact = found.exact[i * 10 + j];
      if (i != 3) {
        EXPECT_TRUE(std::isfinite(exact));
        EXPECT_NE(found.indices[i * 10 + j], 7);
      } else {
        EXPECT_EQ(exact, infinity);
      }
    }
  }
  EXPECT_EQ(found.indices[30], 0);  // all are at infinity, but 7 has a NaN
  EXPECT_EQ(found.indices[37], 8);
}

TEST(fused_search, gives_the_same_answer_twice) {
  const question q{normal(4300, 65, 31), normal(150, 65, 32), 11};
  const answer once = search(q), twice = search(q, 2);
  EXPECT_EQ(once.indices, twice.indices);
  EXPECT_EQ(once.exact, twice.exact);
}

}  // namespace
}  // namespace kselect::search::fused
