// Searches by kernels that somebody follows, and may end.

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/job_watch.hpp"
#include "search/metric/watched_queries.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

class follower final : public runtime::job_watch {
 public:
  explicit follower(std::int64_t most) : most_(most) {}
  void reached(std::int64_t done) override { heard.push_back(done); }
  bool stopping() const override { return !heard.empty() && heard.back() >= most_; }
  void end_if_stopping() const override {
    if (stopping()) throw error(failure::interrupted, "ended");
  }
  std::vector<std::int64_t> heard;

 private:
  std::int64_t most_;
};

TEST(WatchedSearch, BeginsWithFewQueriesAndFindsTheSame) {
  const world w = world::of("euclidean", 200, 300);
  const auto place = fibers_in_order(simt::schedule::in_order, 1);
  const index_data index = w.build(index_kind::list_of_clusters, *place);
  for (const walk_rule walk : {walk_rule::members, walk_rule::groups}) {
    follower watch(1000);
    search_report alone_report, report;
    const auto alone = w.in.open(*w.objects, index, *place, {.walk = walk});
    const auto watched = w.in.open(*w.objects, index, *place, {.walk = walk, .watch = &watch});
    EXPECT_EQ(watched->knn(*w.queries, 5, {.first = 0.5F, .step = 0.5F}, report),
              alone->knn(*w.queries, 5, {.first = 0.5F, .step = 0.5F}, alone_report));
    EXPECT_EQ(alone_report.batches, 1);
    EXPECT_GT(report.batches, 1);
    EXPECT_EQ(watch.heard.front(), 64);
    EXPECT_EQ(watch.heard.back(), 300);
    EXPECT_EQ(watched->range(*w.queries, 0.7F, report),
              alone->range(*w.queries, 0.7F, alone_report));
  }
}

TEST(WatchedSearch, EndsBetweenBatches) {
  const world w = world::of("euclidean", 200, 300);
  const auto place = fibers_in_order(simt::schedule::in_order, 1);
  follower watch(1);
  const index_data none{.kind = index_kind::none, .clusters = {}, .pivots = {}};
  const auto search = w.in.open(*w.objects, none, *place, {.watch = &watch});
  search_report report;
  EXPECT_THROW(search->knn(*w.queries, 5, {}, report), error);
  EXPECT_EQ(watch.heard, std::vector<std::int64_t>{64});
}

TEST(WatchedSearch, BatchesGrowAsLongAsTheyEndSoon) {
  batch_sizes sizes(0, true);
  EXPECT_EQ(sizes.next(1000), 64);
  sizes.took(0.01);
  EXPECT_EQ(sizes.next(1000), 128);
  sizes.took(1);
  EXPECT_EQ(sizes.next(1000), 128);
  EXPECT_EQ(sizes.next(5), 5);
  EXPECT_EQ(batch_sizes(0, false).next(1000), 1000);
  batch_sizes told(10, true);
  told.took(0.01);
  EXPECT_EQ(told.next(1000), 10);
}

}  // namespace
}  // namespace kselect::search::metric_space
