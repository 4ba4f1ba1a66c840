// The fused search with its threads and blocks in other orders. A GPU promises none; lists are
// filled in another order then, and a missing barrier shows.

#include <array>
#include <cstdint>

#include "tests/search/knn/fused_questions.hpp"
#include "tests/search/knn/half_pairs.hpp"

namespace kselect::search::fused {
namespace {

constexpr std::array<simt::fiber_options, 2> other_orders = {
    {{.order = simt::schedule::reversed}, {.order = simt::schedule::random, .seed = 1}}};

TEST(fused_schedule, of_a_search) {
  question q{normal(4200, 40, 1), normal(30, 40, 2), 10};
  const answer right = search(q);
  EXPECT_EQ(right.report.by_float64, 0);
  for (const simt::fiber_options& order : other_orders) {
    SCOPED_TRACE(order.seed);
    q.fiber = order;
    const answer found = search(q);
    EXPECT_EQ(found.indices, right.indices);
    EXPECT_EQ(found.exact, right.exact);
    EXPECT_EQ(found.report.survivors, right.report.survivors);
  }
}

// More hits than blocks hold in shared memory.
TEST(fused_schedule, of_a_graph_by_half_of_the_products) {
  const bound_case some = bound_cases().front();
  for (const simt::fiber_options& order : other_orders) {
    SCOPED_TRACE(order.seed);
    const auto place = runtime::open_host_backend(executor_kind::fiber, 2, order);
    pairs_of_case pairs(*place, some, 401);
    EXPECT_GT(expect_hits(pairs, product_body::mma_sync), 0);
  }
}

}  // namespace
}  // namespace kselect::search::fused
