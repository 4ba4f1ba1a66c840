// The exchange between GPUs, with one GPU that sends to itself. tests/cli/test_knn_ranks.py tests
// several GPUs.

#include <algorithm>

#include <gtest/gtest.h>

#include "lists.hpp"
#include "runtime/error.hpp"
#include "search/knn/tiled/list_exchange.hpp"

namespace kselect::search {
namespace {

TEST(GpuExchange, OneGpuGetsBackWhatItHas) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda);
  const auto one = alone();
  std::unique_ptr<list_exchange> exchange;
  try {
    exchange = open_list_exchange(true, *one, *place);
  } catch (const error& none) {
    GTEST_SKIP() << none.what();
  }
  for (const std::int64_t queries : {1, 1000}) {
    const auto table = testing_lists::some_table(9, 1, queries, 33);
    neighbour_lists mine(queries, 33);
    std::ranges::copy(table.distances, mine.distances().begin());
    std::ranges::copy(table.indices, mine.indices().begin());
    const neighbour_lists merged = exchange->merged(std::move(mine), table.k).lists;
    EXPECT_TRUE(testing_lists::is_merged(table, merged.distances(), merged.indices()));
  }
}

}  // namespace
}  // namespace kselect::search
