// Searches by groups of vectors so long that a thread compares an object with several queries at
// once: eight on a list of clusters, four on an SSS-Index. A group then has eight queries; the last
// has fewer, and near clusters leave some of them over.

#include <random>

#include <gtest/gtest.h>

#include "search/metric/prove.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

std::vector<float> normal(std::int64_t count, std::int64_t dimension, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number;
  std::vector<float> all(static_cast<std::size_t>(count * dimension));
  for (float& x : all) x = number(random);
  return all;
}

// Half of the queries are objects: clusters are near to some of a group's queries alone.
world of_dimension(std::int64_t dimension, std::int64_t objects, std::int64_t queries) {
  const std::vector<float> all = normal(objects, dimension, 1);
  std::vector<float> asked = normal(queries, dimension, 2);
  std::copy(all.begin(), all.begin() + queries / 2 * dimension, asked.begin());
  return {find_space("euclidean"),
          std::make_unique<set_holder<euclidean>>(euclidean::set(all, objects, dimension)),
          std::make_unique<set_holder<euclidean>>(euclidean::set(asked, queries, dimension))};
}

class LongVectors : public testing::TestWithParam<index_kind> {};

// Shorter ones, too, down to one component: those are compared by pairs.
TEST_P(LongVectors, AreComparedWithManyQueriesAtOnce) {
  const auto place = fibers_in_order(simt::schedule::random, 5);
  for (const std::int64_t dimension : {1, 7, 8, 20, 63, 64, 67, 100}) {
    const world w = of_dimension(dimension, 260, 21);
    const index_data index = w.build(GetParam(), *place);
    for (const int threads : {256, 128}) {
      search_options how{.walk = walk_rule::groups, .block_threads = threads};
      if (GetParam() == index_kind::sss) how.distribution = distribution_rule::groups;
      const auto search = w.in.open(*w.objects, index, *place, how);
      for (const std::int64_t k : {1, 30}) {
        search_report report;
        const knn_answer answer = search->knn(*w.queries, k, {}, report);
        EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << dimension << ", " << k;
      }
      for (const float radius : {0.0F, 10.0F}) {
        search_report report;
        const range_answer answer = search->range(*w.queries, radius, report);
        EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, radius, answer, 1), "") << dimension;
        EXPECT_GE(answer.objects.size(), 10U);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, LongVectors,
                         testing::Values(index_kind::list_of_clusters, index_kind::sss));

}  // namespace
}  // namespace kselect::search::metric_space
