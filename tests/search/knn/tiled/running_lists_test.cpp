// Lists that stay in the executor's memory while a corpus is searched tile by tile, on fibers.

#include "search/knn/tiled/running_lists.hpp"

#include <gtest/gtest.h>

#include "../../../simt/fiber_run.hpp"
#include "running_lists_questions.hpp"
#include "search/knn/tiled/merge_tile.cuh"

namespace kselect::search {
namespace {

TEST(RunningLists, AreThoseThatTheHostMerges) {
  testing_lists::expect_lists_on(*open_backend(executor_kind::fiber, 1));
}

// A bound of other ranks counts where it is nearer than the list's own neighbour.
TEST(RunningLists, KnowTheNearerOfANeighbourAndABound) {
  const auto place = open_backend(executor_kind::fiber, 1);
  running_lists lists(*place, false);
  lists.begin(2, 3);
  const testing_lists::tile_answers tile{.k = 2,
                                         .first = 0,
                                         .indices = {4, 1, 0, 2},
                                         .distances = {1, 5, 2, 7},
                                         .exact = {1, 5, 2, 7}};
  testing_lists::write(*place, tile, lists.next(2));
  lists.merge(0);
  const std::vector<double> bounds = {6, 6};
  const auto known = lists.farthest(1, bounds);
  EXPECT_EQ(known.data[0], 5);
  EXPECT_EQ(known.data[1], 6);
  const auto beyond = lists.farthest(2, bounds);
  EXPECT_EQ(beyond.data[0], 6) << "no list has a third neighbour";
  EXPECT_EQ(lists.farthest(2, {}).data[1], std::numeric_limits<double>::infinity());
}

TEST(MergeTileKernel, MergesInEveryOrderOfLanes) {
  std::mt19937 bits(3);
  testing_lists::tile_answers one = testing_lists::some_answers(bits, 3, 40, 0, 50);
  testing_lists::tile_answers two = testing_lists::some_answers(bits, 3, 20, 50, 20);
  const neighbour_lists right = testing_lists::merged_by_host({one, two}, 3, 45, no_neighbour);
  for (const simt::fiber_options& options : simt::all_schedules()) {
    std::vector<std::int64_t> indices(3 * 45, -7);
    std::vector<float> distances(indices.size(), -7);
    std::vector<double> exact(indices.size(), -7);
    const merge_tile_kernel::args all{
        .first = {simt::over(one.indices), simt::over(one.distances), simt::over(one.exact), 40, 0},
        .second = {simt::over(two.indices), simt::over(two.distances), simt::over(two.exact), 20,
                   50},
        .into = {simt::over(indices), simt::over(distances), simt::over(exact), 45, 0},
        .queries = 3};
    const status done = simt::run_on_fibers<merge_tile_kernel>({2, 64}, all, options);
    ASSERT_TRUE(done.ok()) << done.message;
    for (std::int64_t& i : indices) i = i < 0 ? no_neighbour : i;
    EXPECT_TRUE(std::ranges::equal(indices, right.indices())) << options.seed;
    EXPECT_TRUE(std::ranges::equal(exact, right.ranked())) << options.seed;
    EXPECT_TRUE(std::ranges::equal(distances, right.distances())) << options.seed;
  }
}

}  // namespace
}  // namespace kselect::search
