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

template <metric M>
cluster_list build_clusters_within_on(backend& place, const typename M::set& objects, float radius,
                                      job_watch* watch) {
  constexpr std::int64_t launches_at_once = 64;  // before the host looks whether all is done
  const std::int64_t n = objects.count();
  const std::size_t staged = M::staged_bytes(objects);
  require_shared(place.description(), staged + sizeof(typename within_kernel<M>::storage),
                 "build on the CPU");
  const std::int64_t blocks =
      resident_blocks(place.description(), build_threads, (n + build_threads - 1) / build_threads);
  const uploaded<M> on_device(place, objects);
  device_array<int> owner(place, n);
  owner.fill(free_object);
  const device_array<float> away(place, n);
  device_array<double> sums(place, n);
  sums.fill(0);
  const device_array<candidate_centre> candidates(place, 2 * blocks);
  device_array<std::uint32_t> centres(place, n);
  centres.fill(no_object);
  std::vector<std::int64_t> chosen;
  for (std::int64_t cluster = 0; static_cast<std::int64_t>(chosen.size()) == cluster;) {
    for (const std::int64_t end = std::min(cluster + launches_at_once, n); cluster < end;
         ++cluster) {
      require_ok(start<within_kernel<M>>(place.executor(), {blocks, build_threads, staged},
                                         {.objects = on_device.view,
                                          .radius = radius,
                                          .cluster = static_cast<int>(cluster),
                                          .owner = owner.view(),
                                          .away = away.view(),
                                          .sums = sums.view(),
                                          .candidates = candidates.view(),
                                          .centres = centres.view()}));
    }
    require_ok(place.synchronise());
    const std::vector<std::uint32_t> so_far = centres.download(cluster);
    chosen.assign(so_far.begin(), std::ranges::find(so_far, no_object));
    const auto indexed = [&] {
      const auto all = owner.download();
      return std::ranges::count_if(all, [](int of) { return of != free_object; });
    };
    if (watch != nullptr) tell(watch, indexed());
    if (cluster == n) break;
  }
  return arranged(radius, std::move(chosen), owner.download(), away.download());
}

}  // namespace kselect::search::metric_space
