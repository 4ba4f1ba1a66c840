// Searches by groups whose lists become long. Objects lie on half a turn of a spiral around their
// only pivot, and queries at its end. A group begins at those objects that are as far from the
// pivot as its first query. These are far from the queries, and each later one is nearer. So the
// lists become long again and again, and the warps meet to cut them, each after a part of its own
// and some after their last.

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "search/metric/prove.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

// Queries are where a group's parts begin at an odd multiple of 32. So a list may become long amid
// a part: some lanes have gone on by then.
world spiral_of(std::int64_t objects, int groups) {
  const auto radius = [](double place) { return 1000 + 0.01 * place; };
  std::vector<float> spiral{0, 0}, queries;  // the pivot is the first object
  for (std::int64_t i = 1; i < objects; ++i) {
    const auto place = static_cast<double>(i);
    const double angle =
        std::numbers::pi * static_cast<double>(objects - 1 - i) / static_cast<double>(objects - 1);
    spiral.push_back(static_cast<float>(radius(place) * std::cos(angle)));
    spiral.push_back(static_cast<float>(radius(place) * std::sin(angle)));
  }
  for (int q = 0; q < 2 * groups; ++q) {
    queries.push_back(static_cast<float>(radius(240 + q / 8.0)));
    queries.push_back(0);
  }
  return {find_space("euclidean"),
          std::make_unique<set_holder<euclidean>>(euclidean::set(spiral, objects, 2)),
          std::make_unique<set_holder<euclidean>>(euclidean::set(queries, 2 * groups, 2))};
}

class GroupLists : public testing::Test {
 protected:
  // Expects a right answer, for which lists were cut.
  static void expect_cuts(const world& w, std::int64_t k, std::uint64_t seed) {
    const auto place = fibers_in_order(simt::schedule::random, seed);
    const index_data index{
        .kind = index_kind::sss,
        .clusters = {},
        .pivots = w.in.build_pivots(*w.objects, {.alpha = 0.45, .most = 1}, *place)};
    const auto search = w.in.open(*w.objects, index, *place,
                                  {.distribution = distribution_rule::groups, .block_threads = 64});
    search_report report;
    const knn_answer answer = search->knn(*w.queries, k, {}, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << k << ", seed " << seed;
    EXPECT_EQ(answer.objects[static_cast<std::size_t>(k)], w.objects->count() - 1);
    // Several times for every query.
    EXPECT_GT((*report.counters)[simt::counter::queue_merges], 3 * w.queries->count()) << k;
  }
};

TEST_F(GroupLists, OfEachLengthEndInAnyOrderOfLanes) {
  const world w = spiral_of(1600, 2);
  for (std::int64_t k = 1; k <= 64; ++k) expect_cuts(w, k, static_cast<std::uint64_t>(k));
}

TEST_F(GroupLists, OfMoreGroupsThanPartsEnd) {
  const world w = spiral_of(1600, 20);
  for (const std::int64_t k : {1, 33, 64}) expect_cuts(w, k, 1);
}

}  // namespace
}  // namespace kselect::search::metric_space
