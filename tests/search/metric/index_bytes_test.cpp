// What an index takes of an executor's memory is what is planned, and every object is there once.

#include "search/metric/index_bytes.hpp"

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"
#include "search/metric/prove.hpp"
#include "tests/counting_fibers.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

constexpr std::int64_t count = 900, vector_bytes = 3 * sizeof(float);

// Bytes that a search holds before it has queries.
std::int64_t held_by(const world& w, const index_data& index, distribution_rule rule) {
  counting_fibers place(1);
  const auto search = w.in.open(*w.objects, index, place, {.distribution = rule});
  return place.held();
}

index_extent extent_of(const index_data& index, distribution_rule rule) {
  const bool clusters = index.kind == index_kind::list_of_clusters;
  return {.kind = index.kind,
          .distribution = rule,
          .objects = count,
          .object_bytes = vector_bytes,
          .parts = clusters ? index.clusters.clusters() : index.pivots.count(),
          .has_starts = clusters && !index.clusters.has_fixed_size()};
}

TEST(IndexBytes, AreThoseThatAreHeld) {
  const world w = world::of("euclidean", count, 1);
  const auto host = runtime::open_host_backend(executor_kind::cpu, 1);
  for (const auto& kind : names<index_kind>) {
    const index_data index = w.build(kind.value, *host);
    for (const auto& rule : names<distribution_rule>) {
      if (kind.value != index_kind::sss && rule.value != distribution_rule::elements) continue;
      EXPECT_EQ(held_by(w, index, rule.value), index_bytes(extent_of(index, rule.value)))
          << kind.name << ", " << rule.name;
    }
  }
  const index_data balls = w.build_within(w.middle_radius(), *host);
  EXPECT_EQ(held_by(w, balls, distribution_rule::elements),
            index_bytes(extent_of(balls, distribution_rule::elements)));
}

// Groups add their order, but no second table.
TEST(IndexBytes, OfGroupsHoldTheTableOnce) {
  const world w = world::of("euclidean", count, 1);
  const auto host = runtime::open_host_backend(executor_kind::cpu, 1);
  const index_data index = w.build(index_kind::sss, *host);
  const std::int64_t pivots = index.pivots.count();
  ASSERT_GT(pivots, 3);
  const std::int64_t numbers = (count + pivots + 1) * 4;
  EXPECT_EQ(held_by(w, index, distribution_rule::groups),
            held_by(w, index, distribution_rule::elements) + numbers);
}

TEST(IndexBytes, OfGroupsAreForeseen) {
  const world w = world::of("euclidean", count, 1);
  const auto host = runtime::open_host_backend(executor_kind::cpu, 1);
  const index_data index = w.build(index_kind::sss, *host);
  const std::int64_t queries = w.queries->count(), k = 5;
  counting_fibers place(1);
  const auto search = w.in.open(*w.objects, index, place,
                                {.distribution = distribution_rule::groups, .block_threads = 64});
  const std::int64_t before = place.held();
  search_report report;
  search->knn(*w.queries, k, train_radius(w.in, *w.objects, index, k, 1), report);
  EXPECT_EQ(place.most() - before, queries * (vector_bytes + k * 12) +
                                       group_bytes(index_kind::sss, queries, index.pivots.count()));
  EXPECT_LT(group_bytes(index_kind::list_of_clusters, 1'000'000, 1000), 64 << 20)
      << "so many distances are not kept";
}

// Bytes that searches for a k that no group takes leave for the next search.
std::int64_t left_by_large_k(const world& w, const index_data& index, distribution_rule rule) {
  counting_fibers place(2);
  const auto search =
      w.in.open(*w.objects, index, place, {.distribution = rule, .block_threads = 64});
  const std::int64_t before = place.held();
  for (const std::int64_t k : {257, 600}) {
    search_report report;
    const radius_plan plan = train_radius(w.in, *w.objects, index, k, 1);
    const knn_answer answer = search->knn(*w.queries, k, plan, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << k;
  }
  return place.held() - before;
}

TEST(IndexBytes, OfGroupsServeALargeKWithoutMore) {
  const world w = world::of("euclidean", count, 3);
  const auto host = runtime::open_host_backend(executor_kind::cpu, 1);
  const index_data index = w.build(index_kind::sss, *host);
  EXPECT_EQ(left_by_large_k(w, index, distribution_rule::groups),
            left_by_large_k(w, index, distribution_rule::elements));
}

}  // namespace
}  // namespace kselect::search::metric_space
