// The merge kernel on a GPU.

#include <thrust/device_vector.h>

#include <gtest/gtest.h>

#include "harness/backend/backend.hpp"
#include "harness/knn/tiled/merge_kernel.cuh"
#include "lists.hpp"

namespace kselect {
namespace {

template <class T>
simt::global<T> over(thrust::device_vector<std::remove_const_t<T>>& elements) {
  return {elements.data().get(), static_cast<std::int64_t>(elements.size())};
}

TEST(MergeKernelOnCuda, EveryShape) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda);
  for (const std::int64_t lists : {1, 2, 8, 33}) {
    for (const std::int64_t k : {1, 31, 100, 1024}) {
      for (const std::int64_t queries : {1, 1000}) {
        const auto table = testing_lists::some_table(5, lists, queries, k);
        thrust::device_vector<float> distances = table.distances;
        thrust::device_vector<std::int64_t> indices = table.indices;
        thrust::device_vector<float> merged_distances(static_cast<std::size_t>(queries * k), -1.0F);
        thrust::device_vector<std::int64_t> merged_indices(merged_distances.size(), -1);
        const merge_arguments all{.distances = over<const float>(distances),
                                  .indices = over<const std::int64_t>(indices),
                                  .merged_distances = over<float>(merged_distances),
                                  .merged_indices = over<std::int64_t>(merged_indices),
                                  .lists = lists,
                                  .queries = queries,
                                  .k = k};
        const status queued = simt::launch<merge_kernel>(place->executor(), merge_grid(all), all);
        ASSERT_TRUE(queued.ok()) << queued.message;
        ASSERT_TRUE(place->synchronise().ok());
        std::vector<float> d(merged_distances.size());
        std::vector<std::int64_t> i(d.size());
        thrust::copy(merged_distances.begin(), merged_distances.end(), d.begin());
        thrust::copy(merged_indices.begin(), merged_indices.end(), i.begin());
        EXPECT_TRUE(testing_lists::is_merged(table, d, i)) << lists << " " << k << " " << queries;
      }
    }
  }
}

}  // namespace
}  // namespace kselect
