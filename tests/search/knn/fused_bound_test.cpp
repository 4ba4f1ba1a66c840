// The error bound on fibers, and the numbers of a plan.

#include "tests/search/knn/fused_bound.hpp"

#include <bit>

namespace kselect::search::fused {
namespace {

TEST(fused_bound, holds_on_fibers) {
  expect_bounds(*runtime::open_backend(executor_kind::fiber, 2));
}

// After thresholds of chance, too: distance to threshold and back.
TEST(fused_bound, has_a_threshold_for_a_distance) {
  std::mt19937 bits(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 10'000; ++i) {
    corpus_facts c;
    c.usual_error = unit(bits) * 1e-3;
    c.largest_error = c.usual_error * (1 + 100 * unit(bits));
    c.usual_norm = 20 * unit(bits);
    c.reach = 2 * c.usual_norm;
    c.largest_norm = c.usual_norm * (1 + 10 * unit(bits));
    c.sum_error = 1e-5;
    const query_facts x{std::pow(30 * unit(bits), 2), unit(bits) * 1e-3};
    const double distance = 60 * unit(bits);
    const double back = nearest_left_out(c, x, threshold_for(c, x, distance));
    // At the end of the reach either error may count.
    if (std::fabs(distance - c.reach) < 2 * c.largest_error) continue;
    ASSERT_GT(back, distance * (1 + 1e-9)) << "case " << i;
    ASSERT_LT(back, distance + 1e-3 * (30 + distance)) << "case " << i;
  }
}

device gpu(int multiprocessors) {
  device place;
  place.kind = executor_kind::cuda;
  place.multiprocessors = multiprocessors;
  return place;
}

TEST(fused_plan, covers_the_corpus_once) {
  for (const std::int64_t n : {4096, 10'000, 100'000, 1'000'000, 30'000'000}) {
    for (const std::int64_t q : {1, 100, 10'000, 100'000}) {
      for (const std::int64_t k : {1, 10, 100}) {
        const search_plan plan = plan_search({n, q, 128, k}, gpu(132));
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(q) + " " + std::to_string(k));
        if (!plan.filters()) continue;
        EXPECT_LE(plan.matrix_tiles * tile_rows, n);
        EXPECT_LE(plan.matrix_rank, plan.columns() / 2);
        EXPECT_LE(plan.columns(), 4096);
        EXPECT_EQ(plan.matrix.tiles(), plan.matrix_tiles);
        EXPECT_TRUE(plan.group == 0 || plan.matrix.part % plan.group == 0);
        EXPECT_EQ(plan.first.first, 0);
        EXPECT_EQ(plan.second.first, plan.first.last);
        EXPECT_EQ(plan.second.last, tiles_of(n));
        for (const pass_plan& pass : {plan.matrix, plan.first, plan.second}) {
          EXPECT_GE(pass.splits * pass.part, pass.tiles());
          if (pass.splits > 0) {
            EXPECT_LT((pass.splits - 1) * pass.part, pass.tiles());
          }
        }
        EXPECT_GE(plan.room.survivors, 2 * k);
        EXPECT_GE(plan.room.measured, k);
        EXPECT_TRUE(std::has_single_bit(plan.room.measured)) << "the network orders powers of two";
      }
    }
  }
  EXPECT_TRUE(plan_search({1'000'000, 10'000, 128, 100}, gpu(132)).filters());
}

// Where maxima are many, one pass over a sixteenth gives the threshold. Queries that differ in what
// they leave out look their vectors up in scores.
TEST(fused_plan, takes_maxima_where_they_are_many) {
  search_shape s{1'000'000, 10'000, 128, 100};
  EXPECT_EQ(plan_search(s, gpu(132)).group, 1);
  s.n = 30'000'000;
  EXPECT_GT(plan_search(s, gpu(132)).group, 1);
  s.each = true;
  EXPECT_EQ(plan_search(s, gpu(132)).group, 0);
  EXPECT_GT(plan_search(s, gpu(132)).first.tiles(), 0);
  s = {100'000, 10'000, 128, 1000};
  EXPECT_EQ(plan_search(s, gpu(132)).group, 0);
  EXPECT_TRUE(plan_search(s, gpu(132)).filters());
}

TEST(fused_plan, occupies_the_gpu_with_few_queries) {
  const search_plan plan = plan_search({1'000'000, 100, 960, 100}, gpu(132));
  EXPECT_GE(plan.second.splits, 2 * 132 * 9 / 10);
}

TEST(fused_plan, leaves_to_float64_what_products_do_not_pay_for) {
  EXPECT_FALSE(plan_search({4095, 10, 128, 10}, gpu(132)).filters());
  EXPECT_FALSE(plan_search({100'000, 10, 5000, 10}, gpu(132)).filters());
  EXPECT_FALSE(plan_search({100'000, 10, 128, 20'000}, gpu(132)).filters());
}

// A row that keeps at least k is what the rank is for: by simulation, with room for chance.
TEST(fused_plan, ranks_leave_enough) {
  std::mt19937 bits(5);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr std::int64_t n = 20'000, part = 1250, k = 100;
  const auto rank = static_cast<std::size_t>(rank_among(k, part, n));
  int shortfalls = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> scores(n);
    std::ranges::generate(scores, [&] { return unit(bits); });
    std::vector<double> some(scores.begin(), scores.begin() + part);
    std::ranges::nth_element(some, some.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                             std::greater<>());
    shortfalls += std::ranges::count_if(scores, [&](double s) { return s > some[rank - 1]; }) < k;
  }
  EXPECT_LE(shortfalls, 3);
}

}  // namespace
}  // namespace kselect::search::fused
