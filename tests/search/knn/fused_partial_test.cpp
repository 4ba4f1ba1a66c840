// A fused search of which a part of k is wanted: what it answers is the nearest, with the bits of a
// whole search, and ends where it is not certain. Most answers reach as far as is wanted.

#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/memory_plan.hpp"

namespace kselect::search::fused::partial_answers {
namespace {

constexpr double nothing = std::numeric_limits<double>::infinity();

struct partial_case {
  std::int64_t n, queries, dimension, k, wanted;
  metric m = metric::sqeuclidean;
  int values = 0;  // 0: normal; else whole numbers below it, so that many distances are equal
};

std::vector<float> components_of(const partial_case& c, std::int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(2);
  std::vector<float> made;
  for (std::int64_t i = 0; i < count * c.dimension; ++i) {
    made.push_back(c.values == 0 ? normal(bits)
                                 : static_cast<float>(bits() % static_cast<unsigned>(c.values)));
  }
  return made;
}

struct partial_rows {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
};

partial_rows search(backend& place, const prepared_corpus& corpus, const partial_case& c,
                    const std::vector<float>& query, const search_options& options) {
  partial_rows found;
  const std::int64_t size = c.queries * c.k;
  found.indices.assign(static_cast<std::size_t>(size), -7);
  found.distances.assign(static_cast<std::size_t>(size), -7);
  found.exact.assign(static_cast<std::size_t>(size), -7);
  fused_search nearest(place, corpus, c.queries, c.k, false, options);
  found.report = nearest.run(query.data(), c.queries, -1,
                             {.indices = {found.indices.data(), size},
                              .distances = {found.distances.data(), size},
                              .exact = {found.exact.data(), size},
                              .k = c.k,
                              .root = c.m == metric::euclidean},
                             [](stage, const std::function<void()>& work) { work(); });
  return found;
}

struct partial_outcome {
  std::int64_t survivors, of_whole;
  std::int64_t reached = 0;  // answers with as many neighbours as are wanted
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
};

partial_outcome expect_beginnings(const partial_case& c, std::int64_t bytes = 0) {
  const auto place = runtime::open_backend(executor_kind::fiber, 2);
  const std::vector<float> base = components_of(c, c.n, 1), query = components_of(c, c.queries, 2);
  prepared_corpus corpus(*place, base.data(), c.n, c.dimension, c.m);
  corpus.prepare([](stage, const std::function<void()>& work) { work(); });
  const partial_rows all = search(*place, corpus, c, query, {});
  const partial_rows some = search(*place, corpus, c, query, {.bytes = bytes, .wanted = c.wanted});
  EXPECT_EQ(some.report.again, 0);
  EXPECT_EQ(some.report.by_float64, 0);
  partial_outcome outcome{some.report.survivors, all.report.survivors};
  for (std::int64_t q = 0; q < c.queries; ++q) {
    std::int64_t length = 0;
    for (std::int64_t j = 0; j < c.k; ++j) {
      const auto at = static_cast<std::size_t>(q * c.k + j);
      if (some.indices[at] < 0) {
        EXPECT_EQ(some.exact[at], nothing);
        EXPECT_EQ(some.distances[at], std::numeric_limits<float>::infinity());
        continue;
      }
      EXPECT_EQ(length++, j) << "a gap in query " << q;
      EXPECT_EQ(some.indices[at], all.indices[at]) << "query " << q << ", place " << j;
      EXPECT_EQ(std::memcmp(&some.exact[at], &all.exact[at], sizeof(double)), 0);
      EXPECT_EQ(std::memcmp(&some.distances[at], &all.distances[at], sizeof(float)), 0);
    }
    if (length >= c.wanted) ++outcome.reached;
    outcome.shortest = std::min(outcome.shortest, length);
  }
  return outcome;
}

TEST(FusedPartial, FewerSurviveAndWhatIsWantedIsCertain) {
  for (const metric m : {metric::sqeuclidean, metric::euclidean, metric::cosine, metric::pearson}) {
    SCOPED_TRACE(to_string(m));
    const partial_outcome o = expect_beginnings({5000, 20, 40, 40, 12, m});
    EXPECT_LT(o.survivors, o.of_whole * 3 / 4);
    EXPECT_EQ(o.reached, 20);
  }
}

TEST(FusedPartial, OfTwoPasses) {
  const partial_outcome o = expect_beginnings({36'000, 5, 16, 60, 15});
  EXPECT_LT(o.survivors, o.of_whole * 3 / 4);
  EXPECT_EQ(o.reached, 5);
}

TEST(FusedPartial, OfSeveralBatches) {
  const search_shape shape{.n = 4500, .q = 200, .dimension = 8, .k = 20, .wanted = 6};
  const auto place = runtime::open_backend(executor_kind::fiber, 1);
  const std::int64_t bytes = least_search_bytes(shape, place->description());
  const partial_outcome o = expect_beginnings({4500, 200, 8, 20, 6}, bytes);
  EXPECT_EQ(o.reached, 200);
}

// A margin that is as long as what is wanted is small: some answers end before it.
TEST(FusedPartial, AnswersEndWhereTheyAreNotCertain) {
  const partial_outcome o = expect_beginnings({5000, 60, 24, 300, 1});
  EXPECT_EQ(o.reached, 60);
  EXPECT_LT(o.shortest, 300);
}

TEST(FusedPartial, EqualDistancesAndListsThatRunOver) {
  expect_beginnings({4500, 30, 3, 20, 5, metric::sqeuclidean, 4});
  // All vectors are equal. Of lists that run over nothing is certain.
  const partial_outcome o = expect_beginnings({4500, 5, 3, 20, 5, metric::sqeuclidean, 1});
  EXPECT_EQ(o.reached, 0);
}

}  // namespace
}  // namespace kselect::search::fused::partial_answers
