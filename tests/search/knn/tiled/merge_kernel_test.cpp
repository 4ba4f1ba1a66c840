// The merge kernel on fibers, in every order of its lanes.

#include "search/knn/tiled/merge_kernel.cuh"

#include <gtest/gtest.h>

#include "../../../simt/fiber_run.hpp"
#include "lists.hpp"

namespace kselect::search {
namespace {

using testing_lists::list_table;

struct merged {
  std::vector<float> distances;
  std::vector<std::int64_t> indices;
};

merged merge_on_fibers(list_table& table, const simt::fiber_options& options) {
  const auto size = static_cast<std::size_t>(table.queries * table.k);
  // Initial values are wrong, so a missing write shows.
  merged out{std::vector<float>(size, -1), std::vector<std::int64_t>(size, -1)};
  const merge_arguments all{.distances = simt::over(table.distances),
                            .indices = simt::over(table.indices),
                            .merged_distances = simt::over(out.distances),
                            .merged_indices = simt::over(out.indices),
                            .lists = table.lists,
                            .queries = table.queries,
                            .k = table.k};
  const status outcome = simt::run_on_fibers<merge_kernel>(merge_grid(all), all, options);
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  return out;
}

TEST(MergeKernel, MergesInEveryOrderOfLanes) {
  list_table table = testing_lists::some_table(3, 4, 7, 10);
  for (const simt::fiber_options& options : simt::all_schedules()) {
    const merged found = merge_on_fibers(table, options);
    EXPECT_TRUE(is_merged(table, found.distances, found.indices)) << options.seed;
  }
}

TEST(MergeKernel, EveryShape) {
  for (const std::int64_t lists : {1, 2, 3, 8, 33}) {
    for (const std::int64_t k : {1, 2, 31, 64}) {
      for (const std::int64_t queries : {1, 5}) {
        list_table table =
            testing_lists::some_table(static_cast<unsigned>(lists + 7 * k), lists, queries, k);
        const merged found = merge_on_fibers(table, {});
        EXPECT_TRUE(is_merged(table, found.distances, found.indices))
            << lists << " lists of " << k << ", " << queries << " queries";
      }
    }
  }
}

TEST(MergeKernel, AgreesWithTheHost) {
  list_table table = testing_lists::some_table(11, 5, 9, 20);
  neighbour_lists host(9, 20);
  merge_lists(5, {table.distances, table.indices}, 1, host);
  const merged found = merge_on_fibers(table, {});
  EXPECT_TRUE(std::ranges::equal(host.distances(), found.distances));
  EXPECT_TRUE(std::ranges::equal(host.indices(), found.indices));
}

// The search stops at an element that cannot be among the first k.
TEST(MergeKernel, FarEndsCostLittle) {
  constexpr std::int64_t lists = 8, k = 64;
  list_table table = testing_lists::some_table(1, lists, 1, k);
  for (std::size_t i = 0; i < table.distances.size(); ++i) {
    table.distances[i] = static_cast<float>(i % k);
    table.indices[i] = static_cast<std::int64_t>(i);
  }
  simt::counters counted;
  merge_on_fibers(table, {.counters = &counted});
  const auto reads = counted[simt::counter::global_reads];
  EXPECT_GT(reads, 0);
  EXPECT_LT(reads, lists * k * (lists - 1) * 6 / 2) << "half of what all searches would read";
}

}  // namespace
}  // namespace kselect::search
