#pragma once
// Searches by groups of queries (search/metric/kernels/groups.cuh): their memory, and the order in
// which groups take the queries.

#include <algorithm>
#include <numeric>

#include "search/metric/device_memory.hpp"
#include "search/metric/kernels/group_approach.cuh"
#include "search/metric/kernels/group_search.cuh"

namespace kselect::search::metric_space {

// Positions in ascending order of their values, which are less than `values_end`.
std::vector<std::uint32_t> sorted_positions(std::span<const std::uint32_t> values,
                                            std::size_t values_end);

// One batch of queries. `k` is 0 for all objects within a radius.
template <metric M>
class group_search {
 public:
  using walk_args = typename cluster_walk<M>::args;
  // Ranks of list entries are counted, which takes the square of k.
  static constexpr std::int64_t most_k = 256;

  group_search(const device& where, const walk_args& walk, const typename M::set& batch,
               std::int64_t k, int threads)
      : walk_(walk),
        count_(batch.count()),
        k_(static_cast<int>(k)),
        threads_(std::min(threads, group_threads)) {
    if (k > most_k) return;
    const int queries = threads_ / simt::warp_size;
    const auto clusters = static_cast<std::size_t>(walk.clusters);
    // Enough that the k-th nearest of them is mostly little further away than that of all.
    const int sample = k_ == 0 ? 0 : std::max(512, 2 * k_);
    const int room = k_ == 0 ? 0 : nearest_kernel<M>::list_room(k_, threads_);
    const std::size_t staged = M::staged_bytes(batch);
    approach_ = group_layout::of(queries, staged,
                                 static_cast<std::size_t>(queries) * clusters * sizeof(float),
                                 sample, sizeof(std::uint32_t));
    search_ = group_layout::of(queries, staged, clusters * (sizeof(std::uint32_t) + sizeof(int)),
                               room, sizeof(entry));
    fits_ =
        std::max(approach_.bytes, search_.bytes) + sizeof(typename nearest_kernel<M>::storage) <=
        where.shared_bytes;
    groups_ = (count_ + queries - 1) / queries;
  }

  // Whether k and the blocks' shared memory allow this search.
  bool fits() const { return fits_; }

  // `launch` is called with the grid and the arguments of a kernel, its template parameter.
  template <class Launch>
  void nearest(backend& place, const uploaded<M>& queries, simt::global<std::int64_t> objects,
               simt::global<float> distances, const Launch& launch) const {
    const device_array<float> radii(place, count_);
    const auto order = ordered(place, queries, radii.view(), launch);
    launch.template operator()<nearest_kernel<M>>(grid_of(search_),
                                                  {.job = job_of(queries, order.view(), search_),
                                                   .k = k_,
                                                   .radii = {radii.view().data, count_},
                                                   .objects = objects,
                                                   .distances = distances});
  }

  template <class Launch>
  void within(backend& place, const uploaded<M>& queries, float radius,
              simt::global<std::uint32_t> hit_queries, simt::global<entry> hits,
              simt::global<std::uint64_t> hit_count, const Launch& launch) const {
    const auto order = ordered(place, queries, {}, launch);
    launch.template operator()<within_group_kernel<M>>(
        grid_of(search_), {.job = job_of(queries, order.view(), search_),
                           .radius = radius,
                           .hit_queries = hit_queries,
                           .hits = hits,
                           .hit_count = hit_count});
  }

 private:
  simt::grid grid_of(const group_layout& layout) const { return {groups_, threads_, layout.bytes}; }

  group_job<M> job_of(const uploaded<M>& queries, simt::global<const std::uint32_t> order,
                      const group_layout& layout) const {
    return {
        .queries = queries.view, .walk = walk_, .count = count_, .order = order, .layout = layout};
  }

  template <class Launch>
  device_array<std::uint32_t> ordered(backend& place, const uploaded<M>& queries,
                                      simt::global<float> radii, const Launch& launch) const {
    const device_array<std::uint32_t> nearest(place, count_);
    launch.template operator()<approach_kernel<M>>(grid_of(approach_),
                                                   {.job = job_of(queries, {}, approach_),
                                                    .k = k_,
                                                    .nearest = nearest.view(),
                                                    .radii = radii});
    const auto order =
        sorted_positions(nearest.download(), static_cast<std::size_t>(walk_.clusters));
    return {place, std::span<const std::uint32_t>(order)};
  }

  walk_args walk_;
  std::int64_t count_, groups_ = 0;
  int k_, threads_;
  group_layout approach_{}, search_{};
  bool fits_ = false;
};

}  // namespace kselect::search::metric_space
