// Searches by groups whose lists become long. Objects lie on a line, from their only pivot on, and
// a group begins at those that are as far from it as its first query. To its other queries these
// are the farthest, and each later one is nearer. So their lists become long again and again, and
// the warps meet to cut them, each after a part of its own and some after their last.

#include <numeric>

#include <gtest/gtest.h>

#include "search/metric/prove.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

// `groups` groups of two queries: one among the objects, and one beyond all. The first is where a
// group's parts begin at an odd multiple of 32. So a list of the other may become long amid a part:
// some lanes have gone on by then.
world line_of(std::int64_t objects, int groups) {
  std::vector<float> line(static_cast<std::size_t>(objects)), queries;
  std::iota(line.begin(), line.end(), 0.0F);
  for (int g = 0; g < groups; ++g) {
    queries.push_back(240 + static_cast<float>(g) / 4);
    queries.push_back(1.25F * static_cast<float>(objects) + static_cast<float>(g));
  }
  return {find_space("euclidean"),
          std::make_unique<set_holder<euclidean>>(euclidean::set(line, objects, 1)),
          std::make_unique<set_holder<euclidean>>(euclidean::set(queries, 2 * groups, 1))};
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
    // Several times for every second query.
    EXPECT_GT((*report.counters)[simt::counter::queue_merges], 3 * w.queries->count() / 2) << k;
  }
};

TEST_F(GroupLists, OfEachLengthEndInAnyOrderOfLanes) {
  const world w = line_of(1600, 2);
  for (std::int64_t k = 1; k <= 64; ++k) expect_cuts(w, k, static_cast<std::uint64_t>(k));
}

TEST_F(GroupLists, OfMoreGroupsThanPartsEnd) {
  const world w = line_of(1600, 20);
  for (const std::int64_t k : {1, 33, 64}) expect_cuts(w, k, 1);
}

}  // namespace
}  // namespace kselect::search::metric_space
