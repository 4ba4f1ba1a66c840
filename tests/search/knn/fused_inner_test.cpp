// The fused search by inner products, on fibers, against long double: random and adversarial data.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/fused_search.hpp"
#include "tests/search/knn/tried.hpp"

namespace kselect::search::fused {
namespace {

using components = std::vector<float>;

struct inner_question {
  std::int64_t n, queries, dimension, k;
  components base, query;
  bool self = false;                  // queries are the first vectors and leave themselves out
  std::vector<bool> may_return = {};  // [n]; empty: all

  std::span<const float> vector(const components& of, std::int64_t i) const {
    return std::span(of).subspan(static_cast<std::size_t>(i * dimension),
                                 static_cast<std::size_t>(dimension));
  }
};

components normal_components(std::int64_t count, unsigned seed, float centre = 0,
                             float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> value(centre, spread);
  components made(static_cast<std::size_t>(count));
  std::ranges::generate(made, [&] { return value(bits); });
  return made;
}

inner_question normal_question(std::int64_t n, std::int64_t queries, std::int64_t dimension,
                               std::int64_t k, float centre = 0) {
  return {n,
          queries,
          dimension,
          k,
          normal_components(n * dimension, 1, centre),
          normal_components(queries * dimension, 2, centre)};
}

struct inner_answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
};

inner_answer search(const inner_question& q) {
  const auto place = runtime::open_backend(executor_kind::fiber, 2);
  const stage_clock clock = [](stage, const std::function<void()>& work) { work(); };
  const std::int64_t rows = q.queries * q.k;
  inner_answer found;
  found.indices.assign(static_cast<std::size_t>(rows), -7);
  found.distances.assign(found.indices.size(), -7);
  found.exact.assign(found.indices.size(), -7);
  std::vector<std::uint32_t> words(static_cast<std::size_t>((q.n + 31) / 32));
  for (std::size_t i = 0; i < q.may_return.size(); ++i) {
    if (q.may_return[i]) words[i / 32] |= 1U << i % 32;
  }
  admitted allowed;
  if (!q.may_return.empty()) allowed.words = {words.data(), std::ssize(words)};
  prepared_corpus corpus(*place, q.base.data(), q.n, q.dimension, metric::inner_product);
  corpus.prepare(clock);
  fused_search nearest(*place, corpus, q.queries, q.k, q.self,
                       {.leaves_out = q.may_return.empty() ? filtering::none : filtering::one});
  found.report = nearest.run(q.query.data(), q.queries, 0,
                             {.indices = {found.indices.data(), rows},
                              .distances = {found.distances.data(), rows},
                              .exact = {found.exact.data(), rows},
                              .k = q.k},
                             clock, allowed);
  return found;
}

tried::inner_product product_of(const inner_question& q, std::int64_t i, std::int64_t j) {
  return tried::product_of(q.vector(q.query, i), q.vector(q.base, j));
}
// The k largest products of query i, times -1.
std::vector<tried::measured> largest_of(const inner_question& q, std::int64_t i) {
  return tried::largest(
      q.base, q.vector(q.query, i), static_cast<std::size_t>(q.k),
      {.itself = q.self ? i : -1, .may_return = q.may_return.empty() ? nullptr : &q.may_return});
}

// Products that differ by less than float64 resolves may change places, others not: the answer is
// in the right order, and has no product below one that it lacks.
void expect_largest(const inner_question& q, const inner_answer& found) {
  for (std::int64_t i = 0; i < q.queries; ++i) {
    const std::vector<tried::measured> all = largest_of(q, i);
    for (std::int64_t place = 0; place < q.k; ++place) {
      const auto at = static_cast<std::size_t>(i * q.k + place);
      const std::int64_t index = found.indices[at];
      if (place >= std::ssize(all)) {
        ASSERT_EQ(index, -1) << "query " << i << ", place " << place;
        continue;
      }
      ASSERT_TRUE(index >= 0 && index < q.n) << "query " << i << ", place " << place;
      const auto [right, wanted] = all[static_cast<std::size_t>(place)];
      const tried::inner_product own = product_of(q, i, index);
      const long double close = (own.terms + product_of(q, i, wanted).terms) * 1e-14L;
      ASSERT_LE(std::fabs(own.value + right), close) << "query " << i << ", place " << place;
      ASSERT_LE(std::fabs(found.exact[at] + own.value), close);
      ASSERT_EQ(found.distances[at], static_cast<float>(found.exact[at]));
      if (place == 0) continue;
      ASSERT_LE(found.exact[at - 1], found.exact[at]);
      if (found.exact[at - 1] == found.exact[at]) {
        ASSERT_LT(found.indices[at - 1], index);
      }
    }
  }
}

inner_answer expect_right(const inner_question& q) {
  inner_answer found = search(q);
  expect_largest(q, found);
  return found;
}

// Of products that are exact: the very indices.
void expect_the_same(const inner_question& q, const inner_answer& found) {
  for (std::int64_t i = 0; i < q.queries; ++i) {
    const std::vector<tried::measured> all = largest_of(q, i);
    for (std::int64_t place = 0; place < q.k; ++place) {
      const auto at = static_cast<std::size_t>(i * q.k + place);
      ASSERT_EQ(found.indices[at], all[static_cast<std::size_t>(place)].second)
          << "query " << i << ", place " << place;
    }
  }
}

TEST(fused_inner, finds_the_largest_by_products) {
  for (const std::int64_t dimension : {1, 3, 64, 65, 130}) {
    SCOPED_TRACE(dimension);
    const inner_answer found = expect_right(normal_question(4500, 130, dimension, 10));
    if (dimension < 64) continue;
    EXPECT_EQ(found.report.by_float64, 0);
    EXPECT_LE(found.report.again, 20);
    EXPECT_LT(found.report.survivors, 130 * 300);
  }
}

TEST(fused_inner, sharpens_its_threshold_where_the_corpus_is_large) {
  EXPECT_EQ(expect_right(normal_question(36'000, 20, 64, 20)).report.by_float64, 0);
}

TEST(fused_inner, proves_what_is_far_from_the_origin) {
  EXPECT_EQ(expect_right(normal_question(4200, 20, 64, 10, 100)).report.by_float64, 0);
}

TEST(fused_inner, does_not_depend_on_the_length_of_a_query) {
  inner_question q = normal_question(4200, 12, 64, 10);
  const components first(q.query.begin(), q.query.begin() + 64);
  for (std::int64_t i = 0; i < q.queries; ++i) {
    const float length = std::ldexp(1.0F, static_cast<int>(16 * (i - 6)));
    for (std::int64_t c = 0; c < 64; ++c) {
      q.query[static_cast<std::size_t>(i * 64 + c)] = length * first[static_cast<std::size_t>(c)];
    }
  }
  const inner_answer found = expect_right(q);
  EXPECT_EQ(found.report.by_float64, 0);
  for (std::size_t i = 10; i < 120; ++i) EXPECT_EQ(found.indices[i], found.indices[i % 10]);
}

TEST(fused_inner, leaves_the_query_out) {
  inner_question q = normal_question(4300, 100, 66, 5);
  q.query.assign(q.base.begin(), q.base.begin() + 100 * 66);
  q.self = true;
  expect_right(q);
}

TEST(fused_inner, serves_small_problems) {
  for (const std::int64_t n : {1, 2, 127, 129, 1000}) {
    expect_right(normal_question(n, 3, 9, std::min<std::int64_t>(n, 12)));
  }
}

TEST(fused_inner, orders_equal_products_by_index) {
  std::mt19937 bits(3);
  for (const unsigned values : {256U, 3U}) {
    inner_question q{4200, 20, 24, 30, components(4200 * 24), components(20 * 24)};
    for (components* const set : {&q.base, &q.query}) {
      std::ranges::generate(*set, [&] { return static_cast<float>(bits() % values) - 1; });
    }
    expect_the_same(q, search(q));
  }
}

TEST(fused_inner, answers_when_all_vectors_are_equal) {
  inner_question q{4200, 5, 8, 10, components(4200 * 8, 0.7F), normal_components(5 * 8, 17)};
  const inner_answer found = search(q);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(found.indices[i], static_cast<std::int64_t>(i % 10));
  }
}

// Every product with it is 0, and none is -0.
TEST(fused_inner, answers_a_query_of_zeros) {
  inner_question q = normal_question(4200, 3, 16, 10);
  std::fill_n(q.query.begin() + 16, 16, 0.0F);
  std::fill_n(q.query.begin() + 32, 16, -0.0F);
  const inner_answer found = expect_right(q);
  for (std::size_t i = 10; i < 30; ++i) {
    EXPECT_EQ(found.indices[i], static_cast<std::int64_t>(i % 10));
    EXPECT_FALSE(std::signbit(found.distances[i]));
  }
}

TEST(fused_inner, answers_with_outliers_and_at_extreme_scales) {
  for (const float outlier : {1e3F, 1e8F, 1e30F, 3e38F}) {
    SCOPED_TRACE(outlier);
    inner_question q = normal_question(4200, 20, 64, 10);
    std::fill_n(q.base.begin() + 100 * 64, 64, outlier);
    std::fill_n(q.query.begin() + 7 * 64, 64, outlier);
    expect_right(q);
  }
  for (const float scale : {1e-42F, 1e-38F, 1e-20F, 1e18F, 1e36F}) {
    SCOPED_TRACE(scale);
    inner_question q = normal_question(4200, 10, 64, 10);
    for (components* const set : {&q.base, &q.query}) {
      for (float& x : *set) x *= scale;
    }
    const inner_answer found = expect_right(q);
    if (scale > 1e-38F) {
      EXPECT_EQ(found.report.by_float64, 0);
    }
  }
}

TEST(fused_inner, answers_with_many_copies_of_the_kth) {
  inner_question q = normal_question(4200, 6, 64, 10);
  for (std::int64_t i = 100; i < 4100; ++i) {
    std::copy_n(q.base.begin() + (i % 40 + 50) * 64, 64, q.base.begin() + i * 64);
  }
  expect_right(q);
}

TEST(fused_inner, answers_where_norms_differ_much) {
  inner_question q = normal_question(4200, 30, 64, 10);
  for (std::int64_t i = 0; i < q.n; ++i) {
    for (std::int64_t c = 0; c < 64; ++c) {
      q.base[static_cast<std::size_t>(i * 64 + c)] *= std::exp2(static_cast<float>(i % 16));
    }
  }
  expect_right(q);
}

TEST(fused_inner, puts_products_that_are_no_numbers_last) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  inner_question q = normal_question(4200, 5, 64, 10);
  q.base[7 * 64 + 3] = std::numeric_limits<float>::quiet_NaN();
  q.base[8 * 64 + 4] = infinity;
  q.query[3 * 64] = infinity;
  const inner_answer found = search(q);
  for (std::size_t i = 0; i < 5; ++i) {
    const bool up = i == 3 || q.query[i * 64 + 4] > 0;
    if (i != 3) {
      EXPECT_EQ(found.indices[i * 10] == 8, up);
    }
    for (std::size_t j = 0; j < 10; ++j) {
      EXPECT_NE(found.indices[i * 10 + j], 7);
      EXPECT_EQ(found.exact[i * 10 + j] == -infinity, i == 3 || (up && j == 0));
    }
  }
}

TEST(fused_inner, leaves_out_what_a_filter_names) {
  for (const std::int64_t one_in : {2, 40, 900}) {
    inner_question q = normal_question(4200, 30, 64, 10);
    for (std::int64_t i = 0; i < q.n; ++i) q.may_return.push_back(i % one_in == 0);
    expect_right(q);
  }
}

}  // namespace
}  // namespace kselect::search::fused
