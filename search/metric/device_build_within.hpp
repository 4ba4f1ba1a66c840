#pragma once
// Host code that builds a List of Clusters of a fixed radius by kernels
// (search/metric/kernels/build_within.cuh).

#include <algorithm>

#include "search/metric/device_build.hpp"
#include "search/metric/kernels/build_within.cuh"

namespace kselect::search::metric_space {

// Arranges the clusters from each object's cluster and its distance to the centre.
cluster_list arranged(float radius, std::vector<std::int64_t> centres,
                      const std::vector<int>& owner, const std::vector<float>& away);

// What the kernels of one build share, in device memory.
template <metric M>
struct within_arrays {
  within_arrays(backend& place, const typename M::set& objects, std::int64_t blocks)
      : on_device(place, objects),
        owner(place, objects.count()),
        away(place, objects.count()),
        sums(place, objects.count()),
        candidates(place, 2 * blocks),
        centres(place, objects.count()) {
    owner.fill(free_object);
    sums.fill(0);
    centres.fill(no_object);
  }

  typename within_kernel<M>::args for_cluster(std::int64_t cluster, float radius) const {
    return {.objects = on_device.view,
            .radius = radius,
            .cluster = static_cast<int>(cluster),
            .owner = owner.view(),
            .away = away.view(),
            .sums = sums.view(),
            .candidates = candidates.view(),
            .centres = centres.view()};
  }

  std::int64_t indexed() const {
    const auto all = owner.download();
    return std::ranges::count_if(all, [](int of) { return of != free_object; });
  }

  uploaded<M> on_device;
  device_array<int> owner;
  device_array<float> away;
  device_array<double> sums;
  device_array<candidate_centre> candidates;
  device_array<std::uint32_t> centres;
};

template <metric M>
cluster_list build_clusters_within_on(backend& place, const typename M::set& objects, float radius,
                                      job_watch* watch) {
  constexpr std::int64_t launches_at_once = 64;  // before the host looks whether all is done
  const std::int64_t n = objects.count();
  const std::size_t staged = M::staged_bytes(objects);
  require_shared(place.description(), staged + sizeof(typename within_kernel<M>::storage),
                 "build on the CPU");
  const std::int64_t blocks = build_blocks(place, n);
  within_arrays<M> arrays(place, objects, blocks);
  std::vector<std::int64_t> chosen;
  for (std::int64_t cluster = 0; static_cast<std::int64_t>(chosen.size()) == cluster;) {
    for (const std::int64_t end = std::min(cluster + launches_at_once, n); cluster < end;
         ++cluster) {
      require_ok(start<within_kernel<M>>(place.executor(), {blocks, build_threads, staged},
                                         arrays.for_cluster(cluster, radius)));
    }
    require_ok(place.synchronise());
    const std::vector<std::uint32_t> so_far = arrays.centres.download(cluster);
    chosen.assign(so_far.begin(), std::ranges::find(so_far, no_object));
    if (watch != nullptr) tell(watch, arrays.indexed());
    if (cluster == n) break;
  }
  return arranged(radius, std::move(chosen), arrays.owner.download(), arrays.away.download());
}

}  // namespace kselect::search::metric_space
