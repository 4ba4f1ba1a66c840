// A fused search of which neighbours elsewhere are known: it finds every vector that is as near,
// with the bits of a search that knows nothing, whatever is known and however data are.

#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "search/knn/fused/fused_search.hpp"

namespace kselect::search::fused {
namespace {

constexpr double nothing = std::numeric_limits<double>::infinity();

struct known_case {
  std::int64_t n, queries, dimension, k;
  metric m = metric::sqeuclidean;
  int values = 0;  // 0: normal; else whole numbers below it, so that many distances are equal
};

std::vector<float> known_components(std::int64_t count, unsigned seed, int values) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(2);
  std::vector<float> made;
  for (std::int64_t i = 0; i < count; ++i) {
    made.push_back(values == 0 ? normal(bits)
                               : static_cast<float>(bits() % static_cast<unsigned>(values)));
  }
  return made;
}

struct rows_of_search {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
};

class known_searcher {
 public:
  explicit known_searcher(const known_case& c)
      : c_(c),
        place_(runtime::open_backend(executor_kind::fiber, 2)),
        base_(known_components(c.n * c.dimension, 1, c.values)),
        query_(known_components(c.queries * c.dimension, 2, c.values)),
        corpus_(*place_, base_.data(), c.n, c.dimension, c.m),
        search_(*place_, corpus_, c.queries, c.k, false) {
    corpus_.prepare(untimed);
  }

  rows_of_search run(const std::vector<double>& known) {
    rows_of_search found;
    const std::int64_t size = c_.queries * c_.k;
    found.indices.assign(static_cast<std::size_t>(size), -7);
    found.distances.assign(static_cast<std::size_t>(size), -7);
    found.exact.assign(static_cast<std::size_t>(size), -7);
    found.report = search_.run(
        query_.data(), c_.queries, -1,
        {.indices = {found.indices.data(), size},
         .distances = {found.distances.data(), size},
         .exact = {found.exact.data(), size},
         .k = c_.k,
         .root = c_.m == metric::euclidean},
        untimed, {},
        known.empty() ? global<const double>{} : global<const double>{known.data(), c_.queries});
    return found;
  }

 private:
  static void untimed(stage, const std::function<void()>& work) { work(); }

  known_case c_;
  std::unique_ptr<backend> place_;
  std::vector<float> base_, query_;
  prepared_corpus corpus_;
  fused_search search_;
};

// What is at most as far as `known` is in both, in the same places with the same bits.
void expect_wanted(const known_case& c, const rows_of_search& all, const rows_of_search& some,
                   const std::vector<double>& known) {
  for (std::int64_t i = 0; i < c.queries * c.k; ++i) {
    const auto at = static_cast<std::size_t>(i), query = static_cast<std::size_t>(i / c.k);
    if (all.exact[at] > known[query]) {
      EXPECT_GT(some.exact[at], known[query]) << "query " << query << ", place " << i % c.k;
      continue;
    }
    EXPECT_EQ(some.indices[at], all.indices[at]) << "query " << query << ", place " << i % c.k;
    EXPECT_EQ(std::memcmp(&some.exact[at], &all.exact[at], sizeof(double)), 0);
    EXPECT_EQ(std::memcmp(&some.distances[at], &all.distances[at], sizeof(float)), 0);
  }
}

// Returns survivors without and with what is known: the distance of place `place`, if not -1.
std::array<std::int64_t, 2> expect_found(const known_case& c, std::int64_t place) {
  known_searcher searcher(c);
  const rows_of_search all = searcher.run({});
  std::vector<double> known;
  for (std::int64_t q = 0; q < c.queries; ++q) {
    known.push_back(place < 0 ? nothing : all.exact[static_cast<std::size_t>(q * c.k + place)]);
  }
  const rows_of_search some = searcher.run(known);
  expect_wanted(c, all, some, known);
  return {all.report.survivors, some.report.survivors};
}

TEST(FusedKnown, FewerSurviveAndAllThatAreAsNearAreFound) {
  for (const metric m : {metric::sqeuclidean, metric::euclidean, metric::cosine, metric::pearson,
                         metric::inner_product}) {
    SCOPED_TRACE(to_string(m));
    const auto [without, with] = expect_found({5000, 40, 40, 20, m}, 1);
    EXPECT_LT(with, without / 2);
  }
}

TEST(FusedKnown, RaisesTheFirstOfTwoPasses) {
  const auto [without, with] = expect_found({36'000, 12, 16, 20}, 2);
  EXPECT_LT(with, without / 2);
}

TEST(FusedKnown, EqualDistancesAreAsNear) {
  for (const std::int64_t place : {0, 7, 19})
    expect_found({4500, 30, 3, 20, metric::sqeuclidean, 4}, place);
  expect_found({4500, 5, 3, 20, metric::sqeuclidean, 1},
               5);  // all vectors are equal, and lists run over
}

TEST(FusedKnown, NothingKnownLeavesTheSearchAsItIs) {
  const auto [without, with] = expect_found({4500, 30, 24, 10}, -1);
  EXPECT_EQ(without, with);
}

TEST(FusedKnown, FewVectorsAreDoneInFloat64) { expect_found({700, 9, 5, 10}, 3); }

// Nothing is nearer than a neighbour of another corpus that is at the query.
TEST(FusedKnown, AQueryMayWantNoneOfThem) {
  const known_case c{4500, 10, 24, 10};
  known_searcher searcher(c);
  const std::vector<double> known(10, 0.0);
  expect_wanted(c, searcher.run({}), searcher.run(known), known);
}

}  // namespace
}  // namespace kselect::search::fused
