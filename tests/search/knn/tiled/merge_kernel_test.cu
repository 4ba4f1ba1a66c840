// The merge kernel on a GPU.

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "lists.hpp"
#include "runtime/backend/backend.hpp"
#include "search/knn/tiled/merge_kernel.cuh"
#include "search/search.hpp"

namespace kselect::search {
namespace {

// A vector on the GPU.
template <class T>
class on_gpu {
 public:
  on_gpu(backend& place, const std::vector<T>& elements)
      : place_(place), size_(elements.size()), memory_(place, size_ * sizeof(T)) {
    place_.to_device(memory_.data(), std::as_bytes(std::span(elements)));
  }

  simt::global<T> view() const {
    return {reinterpret_cast<T*>(memory_.data()), static_cast<std::int64_t>(size_)};
  }
  std::vector<T> on_host() const {
    std::vector<T> elements(size_);
    place_.to_host(std::as_writable_bytes(std::span(elements)), memory_.data());
    return elements;
  }

 private:
  backend& place_;
  std::size_t size_;
  device_buffer memory_;
};

TEST(MergeKernelOnCuda, EveryShape) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda);
  for (const std::int64_t lists : {1, 2, 8, 33}) {
    for (const std::int64_t k : {1, 31, 100, 1024}) {
      for (const std::int64_t queries : {1, 1000}) {
        const auto table = testing_lists::some_table(5, lists, queries, k);
        const on_gpu distances(*place, table.distances);
        const on_gpu indices(*place, table.indices);
        const auto merged = static_cast<std::size_t>(queries * k);
        const on_gpu merged_distances(*place, std::vector<float>(merged, -1.0F));
        const on_gpu merged_indices(*place, std::vector<std::int64_t>(merged, -1));
        const merge_arguments all{.distances = distances.view(),
                                  .indices = indices.view(),
                                  .merged_distances = merged_distances.view(),
                                  .merged_indices = merged_indices.view(),
                                  .lists = lists,
                                  .queries = queries,
                                  .k = k};
        const status queued = simt::launch<merge_kernel>(place->executor(), merge_grid(all), all);
        ASSERT_TRUE(queued.ok()) << queued.message;
        ASSERT_TRUE(place->synchronise().ok());
        EXPECT_TRUE(
            testing_lists::is_merged(table, merged_distances.on_host(), merged_indices.on_host()))
            << lists << " " << k << " " << queries;
      }
    }
  }
}

}  // namespace
}  // namespace kselect::search
