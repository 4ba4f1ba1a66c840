// The memory of a plan, recomputed from its numbers, and when the graph is built by pairs of tiles.

#include "search/knn/cuda/plan.hpp"

#include <gmock/gmock.h>
#include <random>

#include <gtest/gtest.h>

#include "runtime/distance/cuda/device_vectors.hpp"
#include "runtime/error.hpp"

namespace kselect::search {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mebibyte = 1 << 20;

status never_called(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, "a plan starts nothing"};
}

// An algorithm that only reports its workspace: 16 bytes an element, for at most 100 rows.
algorithm asked_only() {
  algorithm a;
  a.name = "test/asked";
  a.executors = set_of(executor_kind::cuda);
  a.plan = [](const problem& p, const device&) {
    return call_plan::of<&never_called>(
        p, static_cast<std::size_t>(std::min<std::int64_t>(p.q, 100) * p.n * 16));
  };
  return a;
}

class KnnPlan : public testing::Test {
 protected:
  KnnPlan() {
    place_.kind = executor_kind::cuda;
    base_.count = 10000;
    base_.dimension = 100;
    base_.source = "test";
  }

  knn_plan plan(const memory_bounds& limit, bool half_product = true,
                const vector_set* query = nullptr) const {
    const knn_request request{.base = base_,
                              .query = query,
                              .exclude_self = query == nullptr,
                              .metric = metric_,
                              .k = k_,
                              .entry = entry_,
                              .cuda = {.half_product = half_product}};
    return make_plan(request, place_, limit);
  }
  std::int64_t corpus_bytes() const {
    return base_.count * device_vectors::bytes_per_vector(base_.dimension, metric_);
  }
  // Three arrays of candidates, of float, int64 and double.
  static std::int64_t candidate_bytes(const knn_plan& p, std::int64_t sets) {
    return sets * p.tile_queries * p.candidate_pitch * (4 + 8 + 8);
  }
  static std::int64_t distance_bytes(const knn_plan& p) { return 4 * p.tile_queries * p.pitch; }
  // The device memory of a plan by passes, recomputed.
  void require_passes(const knn_plan& p, const memory_bounds& limit, std::int64_t queries) const {
    ASSERT_FALSE(p.by_pairs);
    ASSERT_EQ(p.corpus.count, base_.count);
    ASSERT_GE(p.corpus.width(0), std::min(p.kept, base_.count));
    ASSERT_LE(p.corpus.widest(), std::max(limit.widest, 2 * p.kept));
    ASSERT_GE(p.tile_queries * p.query_tiles, queries);
    ASSERT_LT(p.tile_queries * (p.query_tiles - 1), queries);
    ASSERT_EQ(p.slots, p.streamed ? 2 : p.corpus.parts);
    const std::int64_t vector = device_vectors::bytes_per_vector(base_.dimension, metric_);
    const std::int64_t held = p.slots * p.corpus.widest() * vector +
                              p.tile_queries * p.query_tiles * vector +
                              candidate_bytes(p, p.query_tiles + 1);
    // A tile is never shorter than two selections, even with little memory.
    if (p.corpus.widest() > 2 * p.kept) {
      ASSERT_LE(held, limit.corpus);
    }
  }

  algorithm entry_ = asked_only();
  device place_;
  vector_set base_;
  metric metric_ = metric::sqeuclidean;
  std::int64_t k_ = 10;
};

TEST_F(KnnPlan, CutsEvenly) {
  for (const auto& [count, parts] :
       {std::pair<std::int64_t, std::int64_t>{10, 3}, {7, 7}, {1, 1}}) {
    const even_cut cut{count, parts};
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < parts; ++i) {
      EXPECT_EQ(cut.first(i), next);
      EXPECT_LE(cut.width(i), cut.widest());
      EXPECT_GE(cut.width(i), cut.widest() - 1);
      next += cut.width(i);
    }
    EXPECT_EQ(next, count);
  }
}

TEST_F(KnnPlan, KeepsAMarginAndTheQueryItself) {
  EXPECT_EQ(plan(split_memory(1024 * mebibyte)).kept, 10 + 1 + 8);
  k_ = 800;
  EXPECT_EQ(plan(split_memory(1024 * mebibyte)).kept, 800 + 1 + 100 + 39) << "more for the terms";
  entry_.promises.limits.max_k = 850;
  EXPECT_EQ(plan(split_memory(1024 * mebibyte)).kept, 801) << "the margin is what can be spared";
  entry_.promises.limits.max_k = 800;
  EXPECT_THROW(plan(split_memory(1024 * mebibyte)), error);
}

TEST_F(KnnPlan, TakesOneTileWhereTheWholeMatrixFits) {
  const knn_plan p = plan(split_memory(4096 * mebibyte));
  EXPECT_TRUE(p.by_pairs) << p.whole_product_because;
  EXPECT_EQ(p.corpus.parts, 1);
  EXPECT_EQ(p.tile_queries, base_.count);
}

TEST_F(KnnPlan, ByRowsUnlessAskedFor) {
  const knn_plan p = plan(split_memory(4096 * mebibyte), false);
  EXPECT_FALSE(p.by_pairs);
  EXPECT_EQ(p.whole_product_because, "");
  EXPECT_EQ(p.groups(), 1);
}

TEST_F(KnnPlan, OnALargeGpuRowsAreWholeAndTilesOfQueriesEven) {
  base_.count = 1'000'000;
  vector_set query = base_;
  query.count = 10'000;
  const memory_bounds limit = split_free_memory(std::int64_t{139} << 30);
  const knn_plan p = plan(limit, false, &query);
  EXPECT_EQ(p.corpus.parts, 1) << "nothing to merge";
  EXPECT_EQ(p.tile_queries, 1024);
  EXPECT_LE(distance_bytes(p), limit.tile);
  query.count = 1000;
  EXPECT_EQ(plan(limit, false, &query).tile_queries, 1000) << "all of them";
}

TEST_F(KnnPlan, SaysWhyTheWholeProductIsTaken) {
  EXPECT_THAT(plan(split_memory(6 * mebibyte)).whole_product_because, HasSubstr("streamed"));
  // 10000 candidate rows of 64 x 20 bytes are 12.2 MiB; the corpus of 3.9 MiB leaves 8.1 of 12.
  const knn_plan p = plan(split_memory(24 * mebibyte));
  EXPECT_THAT(p.whole_product_because, HasSubstr("candidates of all 10000 vectors"));
  EXPECT_FALSE(p.by_pairs);
  EXPECT_FALSE(p.streamed);
  EXPECT_THAT(plan({100 * mebibyte, 16384, 100 * mebibyte}).whole_product_because,
              HasSubstr("too small to select 19"));
  const vector_set query = base_;
  EXPECT_THAT(plan(split_memory(4096 * mebibyte), true, &query).whole_product_because,
              HasSubstr("differ"));
}

TEST_F(KnnPlan, SquaresRespectWhatTheAlgorithmTakes) {
  const memory_bounds roomy = split_memory(16384 * mebibyte);
  entry_.promises.limits.max_n = 3000;
  EXPECT_EQ(plan(roomy).corpus.parts, 4);
  entry_.promises.limits = {};
  entry_.promises.limits.max_q = 5500;
  EXPECT_EQ(plan(roomy).corpus.parts, 2);
  entry_.promises.limits = {};
  EXPECT_EQ(plan({roomy.corpus, roomy.tile, 1600 * 5000}).corpus.parts, 3);  // 4992 = 78 * 64
}

TEST_F(KnnPlan, PassesStayWithinTheirBounds) {
  std::mt19937_64 bits(2);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(most));
  };
  int resident = 0, streamed = 0, many = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    base_.count = 1000 + up_to(trial % 2 == 0 ? 20000 : 20000000);
    base_.dimension = up_to(300);
    k_ = up_to(200);
    vector_set query;
    query.dimension = base_.dimension;
    memory_bounds limit = split_memory((64 + up_to(8192)) * mebibyte);
    limit.widest = 512 + up_to(1 << 20);
    const knn_request request{
        .base = base_, .query = &query, .metric = metric_, .k = k_, .entry = entry_};
    const std::int64_t most = most_queries_of_passes(request, place_, limit);
    ASSERT_GE(most, 1);
    query.count = up_to(most);
    SCOPED_TRACE(testing::Message() << "n = " << base_.count << ", dimension " << base_.dimension
                                    << ", k = " << k_ << ", queries " << query.count);
    const knn_plan p = plan_passes(request, place_, limit);
    require_passes(p, limit, query.count);
    if (HasFatalFailure()) return;
    p.streamed ? ++streamed : ++resident;
    many += p.query_tiles > 1 ? 1 : 0;
  }
  EXPECT_GT(resident, 200);
  EXPECT_GT(streamed, 200);
  EXPECT_GT(many, 200);
}

TEST_F(KnnPlan, NeverTakesMoreThanItsBounds) {
  std::mt19937_64 bits(1);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(most));
  };
  int by_pairs = 0, tiled = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    base_.count = up_to(trial % 2 == 0 ? 2000 : 2000000);
    base_.dimension = up_to(300);
    k_ = up_to(std::min<std::int64_t>(base_.count, 300));
    if (k_ == base_.count) continue;
    metric_ = trial % 3 == 0 ? metric::cosine : metric::sqeuclidean;
    const memory_bounds limit = split_memory(up_to(4096) * mebibyte);
    SCOPED_TRACE(testing::Message() << "n = " << base_.count << ", dimension " << base_.dimension
                                    << ", k = " << k_ << ", memory / 2 = " << limit.corpus);
    const knn_plan p = plan(limit);
    const auto narrowest = p.corpus.width(0);  // the first part is never a wider one
    ASSERT_EQ(p.corpus.count, base_.count);
    ASSERT_GE(narrowest, std::min(p.kept, base_.count));
    ASSERT_GE(p.pitch, p.corpus.widest());
    ASSERT_GE(p.candidate_pitch, 2 * p.kept);
    if (!p.by_pairs) {
      ASSERT_NE(p.whole_product_because, "");
      ASSERT_TRUE(p.streamed || corpus_bytes() <= limit.corpus);
      ++refused;
      continue;
    }
    ++by_pairs;
    tiled += p.corpus.parts > 1 ? 1 : 0;
    ASSERT_FALSE(p.streamed);
    ASSERT_EQ(p.tile_queries, p.corpus.widest());
    ASSERT_LE(corpus_bytes() + candidate_bytes(p, p.corpus.parts + 1), limit.corpus);
    ASSERT_LE((p.corpus.parts > 1 ? 2 : 1) * distance_bytes(p), limit.tile);
    ASSERT_LE(std::min<std::int64_t>(p.tile_queries, 100) * p.tile_queries * 16, limit.workspace);
  }
  EXPECT_GT(by_pairs - tiled, 100);
  EXPECT_GT(tiled, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace kselect::search
