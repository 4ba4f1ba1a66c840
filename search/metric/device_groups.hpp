#pragma once
// Searches by groups of queries (search/metric/kernels/groups.cuh): their memory and their
// launches.

#include <algorithm>
#include <type_traits>

#include "search/metric/device_memory.hpp"
#include "search/metric/index_bytes.hpp"
#include "search/metric/kernels/group_approach.cuh"
#include "search/metric/kernels/group_search.cuh"
#include "search/metric/kernels/query_order.cuh"

namespace kselect::search::metric_space {

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
// index. `near`: what sorts the queries and gives them a radius.
template <metric M, class Walk>
class group_search {
 public:
  using cluster_args = typename cluster_walk<M>::args;
  // Ranks of list entries are counted, which takes the square of k.
  static constexpr std::int64_t most_k = 256;

  group_search(const device& where, const near_objects<M>& near, const Walk& walk,
               const typename M::set& batch, std::int64_t k, int threads)
      : near_(near),
        walk_(walk),
        count_(batch.count()),
        bins_(bins_of_centre(
            std::is_same_v<Walk, cluster_args> ? index_kind::list_of_clusters : index_kind::sss,
            near.clusters)),
        k_(static_cast<int>(k)),
        threads_(std::min(threads, group_threads)) {
    if (k > most_k) return;
    const int queries = threads_ / simt::warp_size;
    const auto clusters = static_cast<std::size_t>(near.clusters);
    // Enough that the k-th nearest of them is mostly little further away than that of all.
    const std::int64_t enough = std::max<std::int64_t>(512, 2 * k);
    const std::int64_t all = near.members.count + (near.in_order() ? 0 : near.clusters);
    const int sample = k_ == 0 ? 0 : static_cast<int>(std::min(enough, all));
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

  // What the kernels leave for each other. The device must be done with it before it goes.
  struct memory {
    device_array<float> radii, known;                  // as in the kernels' arguments
    device_array<std::uint32_t> bin_of, ranks, order;  // [Q] each
    device_array<std::uint32_t> counts;                // [clusters * bins]
  };
  memory memory_from(kept_memory& place) const {
    memory taken{.radii = {place, k_ == 0 ? 0 : count_},
                 .known = {place, distances_kept(count_, near_.clusters)},
                 .bin_of = {place, count_},
                 .ranks = {place, count_},
                 .order = {place, count_},
                 .counts = {place, all_bins()}};
    taken.counts.fill(0);
    return taken;
  }

  // `enqueue` is called with the grid and the arguments of a kernel, its template parameter.
  template <class Enqueue>
  void nearest(const uploaded<M>& queries, const memory& with, simt::global<std::int64_t> objects,
               simt::global<float> distances, const Enqueue& enqueue) const {
    with_width(queries, [&](auto at_once) {
      put_in_order<at_once>(queries, with, enqueue);
      enqueue.template operator()<nearest_kernel<M, group_job<M, Walk, at_once>>>(
          grid_of(search_),
          {.job = job_of<at_once>(queries, search_, walk_, with.order.view(), with),
           .k = k_,
           .radii = with.radii.view(),
           .objects = objects,
           .distances = distances});
    });
  }

  template <class Enqueue>
  void within(const uploaded<M>& queries, const memory& with, float radius, const hit_list& hits,
              const Enqueue& enqueue) const {
    with_width(queries, [&](auto at_once) {
      put_in_order<at_once>(queries, with, enqueue);
      enqueue.template operator()<within_group_kernel<M, group_job<M, Walk, at_once>>>(
          grid_of(search_),
          {.job = job_of<at_once>(queries, search_, walk_, with.order.view(), with),
           .radius = radius,
           .hits = hits});
    });
  }

 private:
  std::int64_t all_bins() const { return near_.clusters * bins_; }
  simt::grid grid_of(const group_layout& layout) const { return {groups_, threads_, layout.bytes}; }

  // Calls f(n), a constant: how many queries an object is compared with at once.
  template <class F>
  void with_width(const uploaded<M>& queries, const F& f) const {
    if constexpr (requires { M::is_long(queries.view); }) {
      constexpr int if_long = std::is_same_v<Walk, cluster_args> ? many_at_once : few_at_once;
      const bool has_enough = threads_ / simt::warp_size >= if_long;  // queries of a group
      if (has_enough && M::is_long(queries.view)) {
        return f(std::integral_constant<int, if_long>{});
      }
    }
    f(std::integral_constant<int, at_once_if_short<M>>{});
  }

  template <int at_once, class Of>
  group_job<M, Of, at_once> job_of(const uploaded<M>& queries, const group_layout& layout,
                                   const Of& walk, simt::global<const std::uint32_t> order,
                                   const memory& with) const {
    return {.queries = queries.view,
            .walk = walk,
            .count = count_,
            .order = order,
            .layout = layout,
            .known = with.known.view()};
  }

  template <int width, class Enqueue>
  void put_in_order(const uploaded<M>& queries, const memory& with, const Enqueue& enqueue) const {
    constexpr int at_once = width == at_once_if_short<M> ? width : many_at_once;
    enqueue.template operator()<approach_kernel<M, at_once>>(
        grid_of(approach_), {.job = job_of<at_once>(queries, approach_, near_, {}, with),
                             .k = k_,
                             .bins = static_cast<int>(bins_),
                             .bin_of = with.bin_of.view(),
                             .counts = with.counts.view(),
                             .ranks = with.ranks.view(),
                             .radii = with.radii.view()});
    enqueue.template operator()<order_kernel<M>>(
        {(count_ + threads_ - 1) / threads_, threads_, order_kernel<M>::shared_bytes(all_bins())},
        {.counts = with.counts.view(),
         .bin_of = with.bin_of.view(),
         .ranks = with.ranks.view(),
         .order = with.order.view()});
  }

  near_objects<M> near_;
  Walk walk_;
  std::int64_t count_, bins_, groups_ = 0;
  int k_, threads_;
  group_layout approach_{}, search_{};
  bool fits_ = false;
};

}  // namespace kselect::search::metric_space
