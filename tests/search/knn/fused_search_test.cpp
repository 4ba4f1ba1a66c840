// The fused search on fibers against a search that tries every vector in float64: all metrics,
// sizes around tiles and slabs, and data that its filter, its error bound or its lists cannot
// handle.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/search/knn/fused_questions.hpp"

namespace kselect::search::fused {
namespace {

TEST(fused_search, finds_the_nearest_by_products) {
  for (const std::int64_t dimension : {1, 3, 64, 65, 128, 130}) {
    SCOPED_TRACE(dimension);
    const answer found =
        expect_exhaustive({normal(4500, dimension, 1), normal(130, dimension, 2), 10});
    if (dimension < 64) continue;  // near the limit of float16 in few dimensions
    EXPECT_EQ(found.report.by_float64, 0);
    EXPECT_LE(found.report.again, 13);
    EXPECT_LT(found.report.survivors, 130 * 300);
  }
}

TEST(fused_search, sharpens_its_threshold_where_the_corpus_is_large) {
  const question q{normal(36'000, 16, 3), normal(20, 16, 4), 130};
  const answer found = expect_exhaustive(q);
  const search_plan plan = plan_search({q.base.count, 20, 16, 130}, device{});
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
    expect_exhaustive(q);
  }
}

TEST(fused_search, leaves_the_query_out) {
  question q{normal(4300, 66, 7), {}, 5};
  q.query = {140, 66, {q.base.data.begin(), q.base.data.begin() + 140 * 66}};
  q.leaves_self_out = true;
  const answer found = expect_exhaustive(q);
  for (std::size_t i = 0; i < 140; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_NE(found.indices[i * 5 + j], static_cast<std::int64_t>(i));
    }
  }
}

TEST(fused_search, serves_small_problems) {
  for (const std::int64_t n : {1, 2, 127, 129, 1000}) {
    expect_exhaustive({normal(n, 9, 8), normal(3, 9, 9), std::min<std::int64_t>(n, 12)});
  }
  question q{normal(9, 5, 10), {}, 8};
  q.query = q.base;
  q.leaves_self_out = true;
  expect_exhaustive(q);
}

TEST(fused_search, keeps_bytes_exact) {
  const answer found = expect_exhaustive({bytes(4200, 96, 11), bytes(30, 96, 12), 10});
  EXPECT_EQ(found.report.by_float64, 0);
  // Many equal distances: ties by index, also with the k-th.
  expect_exhaustive({bytes(4200, 6, 13, 3), bytes(30, 6, 14, 3), 10});
}

question in_integers(vectors base, vectors query, std::int64_t k, bool self = false) {
  return {std::move(base),    std::move(query), k, runtime::metric::sqeuclidean, self,
          simt::product::int8};
}

// The queries of a graph in one batch are not rounded again.
TEST(fused_search, takes_the_corpus_as_its_queries) {
  using runtime::metric;
  question q{normal(4100, 20, 31), {}, 6, metric::cosine, true};
  q.query = q.base;
  q.lends = true;
  q.step = 300;
  expect_exhaustive(q);
  question whole{bytes(4100, 20, 32), {}, 6};
  whole.query = whole.base;
  whole.factors = simt::product::int8;
  whole.lends = true;
  whole.step = 300;
  const answer once = expect_exhaustive(whole), twice = search(whole, 2);
  EXPECT_EQ(twice.report.survivors, once.report.survivors) << "counters begin at 0 each time";
  EXPECT_EQ(twice.indices, once.indices);
}

TEST(fused_search, multiplies_bytes_in_integers) {
  for (const std::int64_t dimension : {1, 31, 128, 130, 300}) {
    SCOPED_TRACE(dimension);
    const answer found =
        expect_exhaustive(in_integers(bytes(4200, dimension, 11), bytes(130, dimension, 12), 10));
    if (dimension > 1) {
      EXPECT_EQ(found.report.by_float64, 0);
      EXPECT_LE(found.report.again, 13);
    }
  }
  const answer of_signed = expect_exhaustive(
      in_integers(bytes(4200, 40, 13, 127, -128), bytes(30, 40, 14, 127, -128), 10));
  EXPECT_EQ(of_signed.report.by_float64, 0);
  expect_exhaustive(in_integers(bytes(36'000, 20, 15), bytes(20, 20, 16), 10));
  expect_exhaustive(in_integers(bytes(4200, 6, 13, 3), bytes(30, 6, 14, 3), 10));
  const vectors base = bytes(4300, 20, 17);
  expect_exhaustive(
      in_integers(base, {50, 20, {base.data.begin(), base.data.begin() + 1000}}, 5, true));
}

// The corpus' float vectors are gone once it is prepared, but for what is no byte.
TEST(fused_search, measures_bytes_by_their_rounded_rows) {
  question q = in_integers(bytes(4200, 200, 31), bytes(40, 200, 32), 10);
  q.query.at(7, 150) = 300;  // float64 measures all of its distances
  const answer expected = search(q);
  q.changes = [](vectors& base) {
    for (float& x : base.data) x += 1;
  };
  const answer found = search(q);
  const auto same = [&](std::size_t from, std::size_t to) {
    return std::equal(found.exact.begin() + from, found.exact.begin() + to,
                      expected.exact.begin() + from);
  };
  EXPECT_TRUE(same(0, 70) && same(80, 400));
  EXPECT_FALSE(same(70, 80));
}

TEST(fused_search, measures_a_few_vectors_that_are_no_bytes_in_float64) {
  question q = in_integers(bytes(4200, 30, 33), bytes(40, 30, 34), 10);
  for (std::int64_t i = 0; i < 4200; i += 5) q.base.at(i, i % 30) += 0.25F;
  const answer found = expect_exhaustive(q);
  EXPECT_LT(found.report.by_float64, 5);
}

// They are found in float64.
TEST(fused_search, finds_what_are_no_bytes_by_integers_too) {
  expect_exhaustive(in_integers(normal(4200, 20, 18), normal(5, 20, 19), 10));
  expect_exhaustive(in_integers(bytes(4200, 20, 20), bytes(5, 20, 21, 1000, -1000), 10));
  question q = in_integers(bytes(4200, 20, 22), bytes(5, 20, 23), 10);
  q.base.at(4000, 3) = 1e30F;
  q.query.at(2, 1) = 300;
  expect_exhaustive(q);
  q.metric = runtime::metric::cosine;
  EXPECT_THROW(search(q), runtime::error);
}

question in_bfloat16(vectors base, vectors query) {
  return {std::move(base), std::move(query),       10, runtime::metric::sqeuclidean,
          false,           simt::product::bfloat16};
}

TEST(fused_search, multiplies_in_bfloat16) {
  for (const std::int64_t dimension : {1, 64, 130}) {
    SCOPED_TRACE(dimension);
    const answer found =
        expect_exhaustive(in_bfloat16(normal(4200, dimension, 1), normal(60, dimension, 2)));
    if (dimension >= 64) {
      EXPECT_EQ(found.report.by_float64, 0);
    }
  }
  question q = in_bfloat16(normal(4200, 40, 5, 3), normal(20, 40, 6, 3));
  q.metric = runtime::metric::cosine;
  expect_exhaustive(q);
}

// One vector in 20 is 10^5 to 10^12 times as long as the others. They decide the mean and the
// variance. So float16 has the others near 0, where it is coarse.
TEST(fused_search, proves_in_bfloat16_what_a_few_large_vectors_hide_from_float16) {
  question q = in_bfloat16(normal(4200, 64, 40), normal(30, 64, 41));
  std::mt19937 bits(42);
  for (std::int64_t i = 0; i < q.base.count; i += 20) {
    const float factor = std::pow(10.0F, static_cast<float>(5 + bits() % 8));
    for (std::int64_t c = 0; c < 64; ++c) q.base.at(i, c) *= factor;
  }
  for (std::int64_t c = 0; c < 64; ++c) q.query.at(7, c) *= 1e7F;
  const answer found = expect_exhaustive(q);
  EXPECT_LE(found.report.by_float64, 2);
  q.factors = simt::product::float16;
  EXPECT_GT(expect_exhaustive(q).report.by_float64, 20);
}

// Components of 70 binades, some below what rounding keeps and some beyond it.
TEST(fused_search, ends_right_in_bfloat16_whatever_the_range) {
  std::mt19937 bits(43);
  std::normal_distribution<float> value(0, 1);
  const auto wide = [&] { return std::ldexp(value(bits), static_cast<int>(bits() % 70) - 35); };
  expect_exhaustive(in_bfloat16(filled(4200, 20, wide), filled(10, 20, wide)));
  for (const float scale : {1e-42F, 1e36F}) {
    question q = in_bfloat16(normal(4200, 20, 44), normal(5, 20, 45));
    for (vectors* const set : {&q.base, &q.query}) {
      for (float& x : set->data) x *= scale;
    }
    expect_exhaustive(q);
  }
  question q = in_bfloat16(normal(4200, 20, 46), normal(5, 20, 47));
  q.base.at(3, 3) = std::numeric_limits<float>::infinity();
  const answer found = search(q);
  for (const std::int64_t index : found.indices) EXPECT_NE(index, 3);
}

TEST(fused_search, proves_what_is_far_from_the_origin) {
  const answer found =
      expect_exhaustive({normal(4200, 64, 15, 1000), normal(20, 64, 16, 1000), 10});
  EXPECT_EQ(found.report.by_float64, 0);
}

TEST(fused_search, answers_when_all_vectors_are_equal) {
  question q{filled(4200, 8, [] { return 0.7F; }), normal(5, 8, 17), 10};
  for (std::int64_t c = 0; c < 8; ++c) q.query.at(2, c) = 0.7F;
  const answer found = expect_exhaustive(q);
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
  expect_exhaustive(q);
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
  const answer found = expect_exhaustive(q);
  EXPECT_EQ(found.report.by_float64, 0);
}

TEST(fused_search, answers_with_outliers_and_at_extreme_scales) {
  for (const float outlier : {1e3F, 1e8F, 1e30F, 3e38F}) {
    SCOPED_TRACE(outlier);
    question q{normal(4200, 64, 24), normal(20, 64, 25), 10};
    for (std::int64_t c = 0; c < 64; ++c) q.base.at(100, c) = q.query.at(7, c) = outlier;
    const answer found = expect_exhaustive(q);
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
    const answer found = expect_exhaustive(q);
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
  expect_exhaustive(q);
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
