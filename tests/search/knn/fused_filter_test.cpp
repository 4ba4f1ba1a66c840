// Filters of the fused search on fibers against a search that tries every vector. Components are
// bytes, so distances are exact and the answer is unique.

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/fused_search.hpp"
#include "tests/search/knn/tried.hpp"

namespace kselect::search::fused {
namespace {

using mask = std::vector<bool>;

struct filtered_question {
  std::int64_t n, queries, dimension, k;
  filtering leaves_out;
  std::vector<mask> masks;  // one, or one a query
  bool self = false;        // queries are the first vectors and leave themselves out
  int most = 255;           // of components
  simt::product factors = simt::product::float16;
};

struct filtered_answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  search_report report;
};

std::vector<float> random_bytes(std::int64_t count, unsigned seed, int most) {
  std::mt19937 bits(seed);
  std::vector<float> made(static_cast<std::size_t>(count));
  std::ranges::generate(made, [&] { return static_cast<float>(bits() % (most + 1U)); });
  return made;
}

// Spare bits are set: they have no meaning. A word lies between the rows.
std::vector<std::uint32_t> words_of(const filtered_question& q, std::int64_t pitch) {
  std::vector<std::uint32_t> words(q.masks.size() * static_cast<std::size_t>(pitch), ~0U);
  for (std::size_t row = 0; row < q.masks.size(); ++row) {
    for (std::size_t i = 0; i < q.masks[row].size(); ++i) {
      if (!q.masks[row][i]) {
        words[row * static_cast<std::size_t>(pitch) + i / 32] &= ~(1U << i % 32);
      }
    }
  }
  return words;
}

filtered_answer search(const filtered_question& q, const std::vector<float>& base,
                       const std::vector<float>& query, int calls = 1) {
  const auto place = runtime::open_backend(executor_kind::fiber, 2);
  const stage_clock clock = [](stage, const std::function<void()>& work) { work(); };
  const std::int64_t pitch = (q.n + 31) / 32 + 1, rows = q.queries * q.k;
  const std::vector<std::uint32_t> words = words_of(q, pitch);
  const admitted allowed{{words.data(), static_cast<std::int64_t>(words.size())},
                         q.leaves_out == filtering::each ? pitch : 0};
  filtered_answer found;
  found.indices.assign(static_cast<std::size_t>(rows), -7);
  found.distances.assign(static_cast<std::size_t>(rows), -7);
  prepared_corpus corpus(*place, base.data(), q.n, q.dimension, metric::sqeuclidean, q.factors);
  corpus.prepare(clock);
  fused_search nearest(*place, corpus, q.queries, q.k, q.self, {.leaves_out = q.leaves_out});
  for (int call = 0; call < calls; ++call) {
    found.report = nearest.run(query.data(), q.queries, 0,
                               {.indices = {found.indices.data(), rows},
                                .distances = {found.distances.data(), rows},
                                .exact = {},
                                .k = q.k},
                               clock, allowed);
  }
  return found;
}

void expect_admitted(const filtered_question& q, const filtered_answer& found,
                     const std::vector<float>& base, const std::vector<float>& query) {
  std::vector<tried::image> images;
  for (std::int64_t j = 0; j < q.n; ++j) {
    const auto first = static_cast<std::size_t>(j * q.dimension);
    images.push_back(
        tried::image_of(std::span(base).subspan(first, static_cast<std::size_t>(q.dimension)),
                        metric::sqeuclidean));
  }
  for (std::int64_t i = 0; i < q.queries; ++i) {
    const mask& own = q.masks[q.leaves_out == filtering::each ? static_cast<std::size_t>(i) : 0];
    const auto first = static_cast<std::size_t>(i * q.dimension);
    const tried::image asked =
        tried::image_of(std::span(query).subspan(first, static_cast<std::size_t>(q.dimension)),
                        metric::sqeuclidean);
    std::vector<tried::measured> all =
        tried::nearest(images, asked, metric::sqeuclidean, static_cast<std::size_t>(q.k),
                       {.itself = q.self ? i : -1, .may_return = &own});
    all.resize(static_cast<std::size_t>(q.k), {std::numeric_limits<float>::infinity(), -1});
    for (std::int64_t j = 0; j < q.k; ++j) {
      const auto at = static_cast<std::size_t>(i * q.k + j);
      ASSERT_EQ(found.indices[at], all[static_cast<std::size_t>(j)].second)
          << "query " << i << ", place " << j;
      ASSERT_EQ(found.distances[at], all[static_cast<std::size_t>(j)].first);
    }
  }
}

search_report expect_right(const filtered_question& q, int calls = 1) {
  const std::vector<float> base = random_bytes(q.n * q.dimension, 1, q.most);
  std::vector<float> query = random_bytes(q.queries * q.dimension, 2, q.most);
  if (q.self) query.assign(base.begin(), base.begin() + q.queries * q.dimension);
  const filtered_answer found = search(q, base, query, calls);
  expect_admitted(q, found, base, query);
  return found.report;
}

mask share_of(std::int64_t n, double share, unsigned seed) {
  std::mt19937 bits(seed);
  std::bernoulli_distribution in(share);
  mask made(static_cast<std::size_t>(n));
  for (auto bit : made) bit = in(bits);
  return made;
}
mask first_of(std::int64_t n, std::int64_t count) {
  mask made(static_cast<std::size_t>(n));
  std::fill_n(made.begin(), count, true);
  return made;
}
mask last_of(std::int64_t n, std::int64_t count) {
  mask made = first_of(n, count);
  std::reverse(made.begin(), made.end());
  return made;
}

// Masks that thresholds from a sample, lists or the answer's length could get wrong.
std::vector<mask> adversarial(std::int64_t n, std::int64_t k) {
  return {first_of(n, 0),        last_of(n, 1),          last_of(n, k - 1),
          first_of(n, k),        last_of(n, k + 1),      share_of(n, 0.5, 1),
          share_of(n, 0.01, 2),  share_of(n, 0.001, 3),  share_of(n, 0.99, 4),
          last_of(n, n / 5 + 1), first_of(n, n / 3 + 1), first_of(n, n)};
}

filtered_question each_of(std::int64_t n, std::int64_t dimension, std::int64_t k) {
  filtered_question q{.n = n,
                      .queries = 0,
                      .dimension = dimension,
                      .k = k,
                      .leaves_out = filtering::each,
                      .masks = adversarial(n, k)};
  q.queries = static_cast<std::int64_t>(q.masks.size());
  return q;
}

TEST(fused_filter, each_query_gets_what_it_admits) {
  for (const std::int64_t dimension : {3, 64, 130}) {
    SCOPED_TRACE(dimension);
    expect_right(each_of(4500, dimension, 10));
  }
}

TEST(fused_filter, bytes_are_left_out_in_integers_too) {
  filtered_question q = each_of(4500, 20, 10);
  q.factors = simt::product::int8;
  expect_right(q);
  q = {4500, 5, 200, 10, filtering::one, {share_of(4500, 0.3, 5)}};
  q.factors = simt::product::int8;
  EXPECT_EQ(expect_right(q).by_float64, 0);
}

TEST(fused_filter, one_mask_serves_all_queries) {
  for (const mask& one : adversarial(4500, 10)) {
    expect_right({4500, 5, 16, 10, filtering::one, {one}});
  }
}

// A corpus with a first pass.
TEST(fused_filter, thresholds_are_sharpened_by_admitted_vectors) {
  const std::int64_t n = 36'000;
  expect_right(each_of(n, 16, 10));
  for (const double share : {0.5, 0.02}) {
    expect_right({n, 6, 16, 10, filtering::one, {share_of(n, share, 9)}});
  }
}

// What half of the vectors are left out of costs no more proofs than none.
TEST(fused_filter, products_prove_what_thresholds_of_admitted_vectors_admit) {
  std::vector<mask> halves;
  for (unsigned i = 0; i < 40; ++i) halves.push_back(share_of(36'000, 0.5, i));
  const search_report each = expect_right({36'000, 40, 16, 10, filtering::each, halves});
  EXPECT_EQ(each.by_float64, 0);
  EXPECT_LT(each.again, 8);
  EXPECT_LT(each.survivors, 40 * 600) << "what is left out is in no list";
  const search_report one = expect_right({36'000, 40, 16, 10, filtering::one, {halves[0]}});
  EXPECT_EQ(one.by_float64, 0);
  EXPECT_LT(one.again, 8);
}

// All that is admitted survives, and is known to be all: no float64 search of the corpus.
TEST(fused_filter, short_rows_are_proven_by_products) {
  const search_report few = expect_right({4500, 9, 16, 10, filtering::one, {last_of(4500, 3)}});
  EXPECT_EQ(few.again, 0);
  const search_report none = expect_right({4500, 9, 16, 10, filtering::one, {first_of(4500, 0)}});
  EXPECT_EQ(none.again, 0);
  EXPECT_EQ(none.survivors, 0);
}

TEST(fused_filter, small_corpora_are_searched_in_float64) {
  filtered_question q = each_of(700, 5, 10);
  EXPECT_EQ(expect_right(q).by_float64, q.queries);
  expect_right({700, 4, 5, 10, filtering::one, {last_of(700, 4)}});
  expect_right({1, 2, 5, 1, filtering::one, {mask{false}}});
}

// Lists run over, and queries are done again and then in float64.
TEST(fused_filter, equal_vectors_end_right) {
  filtered_question q = each_of(4500, 4, 10);
  q.most = 0;
  expect_right(q);
  q.most = 1;
  expect_right(q);
}

TEST(fused_filter, a_graph_leaves_out_both) {
  filtered_question q = each_of(4500, 8, 10);
  q.self = true;
  expect_right(q);
  expect_right({4500, 20, 8, 10, filtering::one, {share_of(4500, 0.3, 5)}, true});
}

TEST(fused_filter, a_search_is_used_again) {
  expect_right({4500, 3, 16, 10, filtering::one, {share_of(4500, 0.3, 5)}}, 2);
}

}  // namespace
}  // namespace kselect::search::fused
