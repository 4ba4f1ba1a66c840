#pragma once
// Searches by groups of queries (search/metric/kernels/groups.cuh): their memory, and the order in
// which groups take the queries.

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "search/metric/device_memory.hpp"
#include "search/metric/index_bytes.hpp"
#include "search/metric/kernels/group_approach.cuh"
#include "search/metric/kernels/group_search.cuh"

namespace kselect::search::metric_space {

// Positions in ascending order of their values, which are less than `values_end`.
std::vector<std::uint32_t> sorted_positions(std::span<const std::uint32_t> values,
                                            std::size_t values_end);

// Bytes of a group's shared memory for what it keeps of the index.
template <class M>
std::size_t walk_bytes(const typename cluster_walk<M>::args& walk, int) {
  return static_cast<std::size_t>(walk.clusters) * (sizeof(std::uint32_t) + sizeof(int));
}
template <class M>
std::size_t walk_bytes(const pivot_args<M>& walk, int queries) {
  return static_cast<std::size_t>(walk.count) * static_cast<std::size_t>(queries) * sizeof(float);
}

// One batch of queries. `k` is 0 for all objects within a radius. `Walk`: the arguments of the
// index. `near`: the clusters whose nearest centre sorts the queries, and whose members give a
// radius; a member must not be in several of those that a query reads.
template <metric M, class Walk>
class group_search {
 public:
  using near_args = typename cluster_walk<M>::args;
  // Ranks of list entries are counted, which takes the square of k.
  static constexpr std::int64_t most_k = 256;

  group_search(const device& where, const near_args& near, const Walk& walk, std::int64_t most_near,
               const typename M::set& batch, std::int64_t k, int threads)
      : near_(near),
        walk_(walk),
        count_(batch.count()),
        k_(static_cast<int>(k)),
        threads_(std::min(threads, group_threads)) {
    if (k > std::min(most_k, most_near)) return;
    const int queries = threads_ / simt::warp_size;
    const auto clusters = static_cast<std::size_t>(near.clusters);
    // Enough that the k-th nearest of them is mostly little further away than that of all.
    const std::int64_t enough = std::max<std::int64_t>(512, 2 * k);
    const int sample = k_ == 0 ? 0 : static_cast<int>(std::min(enough, most_near));
    const int room = k_ == 0 ? 0 : nearest_kernel<M, group_job<M, Walk>>::list_room(k_, threads_);
    const std::size_t staged = M::staged_bytes(batch);
    approach_ = group_layout::of(queries, staged,
                                 static_cast<std::size_t>(queries) * clusters * sizeof(float),
                                 sample, sizeof(std::uint32_t));
    search_ = group_layout::of(queries, staged, walk_bytes<M>(walk, queries), room, sizeof(entry));
    fits_ = std::max(approach_.bytes, search_.bytes) +
                sizeof(typename nearest_kernel<M, group_job<M, Walk>>::storage) <=
            where.shared_bytes;
    groups_ = (count_ + queries - 1) / queries;
  }

  // Whether k and the blocks' shared memory allow this search.
  bool fits() const { return fits_; }

  // `launch` is called with the grid and the arguments of a kernel, its template parameter.
  template <class Launch>
  void nearest(kept_memory& place, const uploaded<M>& queries, simt::global<std::int64_t> objects,
               simt::global<float> distances, const Launch& launch) const {
    const device_array<float> radii(place, count_);
    const device_array<float> known(place, kept());
    with_width(queries, [&](auto at_once) {
      const auto order = ordered<at_once>(place, queries, radii.view(), known, launch);
      launch.template operator()<nearest_kernel<M, group_job<M, Walk, at_once>>>(
          grid_of(search_), {.job = job_of<at_once>(queries, order.view(), known),
                             .k = k_,
                             .radii = {radii.view().data, count_},
                             .objects = objects,
                             .distances = distances});
    });
  }

  template <class Launch>
  void within(kept_memory& place, const uploaded<M>& queries, float radius, const hit_list& hits,
              const Launch& launch) const {
    const device_array<float> known(place, kept());
    with_width(queries, [&](auto at_once) {
      const auto order = ordered<at_once>(place, queries, {}, known, launch);
      launch.template operator()<within_group_kernel<M, group_job<M, Walk, at_once>>>(
          grid_of(search_),
          {.job = job_of<at_once>(queries, order.view(), known), .radius = radius, .hits = hits});
    });
  }

 private:
  simt::grid grid_of(const group_layout& layout) const { return {groups_, threads_, layout.bytes}; }

  std::int64_t kept() const { return distances_kept(count_, near_.clusters); }

  // Calls f(n), a constant: how many queries an object is compared with at once.
  template <class F>
  void with_width(const uploaded<M>& queries, const F& f) const {
    if constexpr (std::is_same_v<Walk, near_args> && requires { M::is_long(queries.view); }) {
      const bool has_many = threads_ / simt::warp_size >= many_at_once;  // queries of a group
      if (has_many && M::is_long(queries.view)) {
        return f(std::integral_constant<int, many_at_once>{});
      }
    }
    f(std::integral_constant<int, few_at_once>{});
  }

  template <int at_once>
  group_job<M, Walk, at_once> job_of(const uploaded<M>& queries,
                                     simt::global<const std::uint32_t> order,
                                     const device_array<float>& known) const {
    return {.queries = queries.view,
            .walk = walk_,
            .count = count_,
            .order = order,
            .layout = search_,
            .known = known.view()};
  }

  template <int at_once, class Launch>
  device_array<std::uint32_t> ordered(kept_memory& place, const uploaded<M>& queries,
                                      simt::global<float> radii, const device_array<float>& known,
                                      const Launch& launch) const {
    const device_array<std::uint32_t> nearest(place, count_);
    launch.template operator()<approach_kernel<M, group_job<M, near_args, at_once>>>(
        grid_of(approach_), {.job = {.queries = queries.view,
                                     .walk = near_,
                                     .count = count_,
                                     .order = {},
                                     .layout = approach_,
                                     .known = known.view()},
                             .k = k_,
                             .nearest = nearest.view(),
                             .radii = radii});
    const auto order =
        sorted_positions(nearest.download(), static_cast<std::size_t>(near_.clusters));
    return {place, std::span<const std::uint32_t>(order)};
  }

  near_args near_;
  Walk walk_;
  std::int64_t count_, groups_ = 0;
  int k_, threads_;
  group_layout approach_{}, search_{};
  bool fits_ = false;
};

}  // namespace kselect::search::metric_space
