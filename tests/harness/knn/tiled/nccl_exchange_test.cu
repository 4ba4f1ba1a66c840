// The exchange between GPUs with the one GPU that is here: every send goes to itself. More of them
// are tested by tests/cli/test_knn_mpi.py.

#include <algorithm>

#include <gtest/gtest.h>

#include "harness/knn/tiled/gpu_exchange.hpp"
#include "lists.hpp"

namespace kselect {
namespace {

TEST(GpuExchange, OneGpuGetsBackWhatItHas) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda);
  if (const std::string why = why_no_gpu_exchange(*place); !why.empty()) GTEST_SKIP() << why;
  const auto one = alone();
  const auto exchange = open_gpu_exchange(*one, *place);
  for (const std::int64_t queries : {1, 1000}) {
    const auto table = testing_lists::some_table(9, 1, queries, 33);
    neighbour_lists mine(queries, 33);
    std::ranges::copy(table.distances, mine.distances().begin());
    std::ranges::copy(table.indices, mine.indices().begin());
    const neighbour_lists merged = exchange->merged(std::move(mine));
    EXPECT_TRUE(testing_lists::is_merged(table, merged.distances(), merged.indices()));
  }
}

}  // namespace
}  // namespace kselect
