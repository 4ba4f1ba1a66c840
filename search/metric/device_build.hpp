#pragma once
// Host code that builds indexes by kernels (search/metric/kernels/build.cuh).

#include <algorithm>
#include <limits>

#include "search/metric/cpu/build.hpp"
#include "search/metric/device_memory.hpp"
#include "search/metric/kernels/build.cuh"
#include "search/metric/kernels/search.cuh"
#include "search/metric/kernels/start.hpp"

namespace kselect::search::metric_space {

inline constexpr int build_threads = 256;
inline std::int64_t build_blocks(const backend& place, std::int64_t objects) {
  return resident_blocks(place.description(), build_threads,
                         (objects + build_threads - 1) / build_threads);
}

template <metric M>
class cluster_builder {
 public:
  cluster_builder(backend& place, const typename M::set& objects, std::int64_t cluster_size)
      : place_(place),
        n_(objects.count()),
        cluster_size_(cluster_size),
        clusters_(clusters_of(n_, cluster_size)),
        blocks_(build_blocks(place, n_)),
        layout_(shared_layout::of(cluster_size, 0, M::staged_bytes(objects))),
        objects_(place, objects),
        owner_(place, n_),
        sums_(place, n_),
        candidates_(place, blocks_),
        heaps_(place, blocks_ * heap_reduction::heap_entries(build_threads, cluster_size)),
        nearest_(place, blocks_ * cluster_size),
        nearest_count_(place, blocks_),
        centres_(place, clusters_),
        radii_(place, clusters_),
        members_(place, n_) {
    require_shared(place.description(), layout_.bytes + sizeof(typename measure_kernel<M>::storage),
                   "build large clusters on the CPU");
    owner_.fill(free_object);
    sums_.fill(0);
  }

  cluster_list build(job_watch* watch) {
    constexpr int launched_at_once = 64;  // clusters; then the host waits, and tells
    for (int cluster = 0; cluster < clusters_; ++cluster) {
      add(cluster);
      if (watch == nullptr || (cluster + 1) % launched_at_once != 0) continue;
      require_ok(place_.synchronise());
      tell(watch, std::min(n_, (cluster + 1) * (cluster_size_ + 1)));
    }
    require_ok(place_.synchronise());
    cluster_list list;
    list.cluster_size = cluster_size_;
    for (const std::uint32_t c : centres_.download()) list.centres.push_back(c);
    list.radii = radii_.download();
    for (const std::uint32_t i : members_.download(n_ - clusters_)) list.members.push_back(i);
    return list;
  }

 private:
  void add(int cluster) {
    const executor on = place_.executor();
    const build_memory<M> memory = this->memory();
    const std::size_t staged = layout_.staged;
    require_ok(start<measure_kernel<M>>(on, {blocks_, build_threads, layout_.bytes},
                                        {memory, cluster, staged}));
    require_ok(start<close_kernel<M>>(on, {1, build_threads, staged},
                                      {memory, cluster, static_cast<int>(blocks_)}));
    if (cluster + 1 == clusters_) return;
    require_ok(start<farthest_kernel<M>>(on, {blocks_, build_threads}, {memory}));
  }

  build_memory<M> memory() const {
    return {.objects = objects_.view,
            .cluster_size = static_cast<int>(cluster_size_),
            .owner = owner_.view(),
            .sums = sums_.view(),
            .candidates = candidates_.view(),
            .heaps = heaps_.view(),
            .nearest = nearest_.view(),
            .nearest_count = nearest_count_.view(),
            .centres = centres_.view(),
            .radii = radii_.view(),
            .members = members_.view()};
  }

  backend& place_;
  std::int64_t n_, cluster_size_, clusters_, blocks_;
  shared_layout layout_;
  uploaded<M> objects_;
  device_array<int> owner_;
  device_array<double> sums_;
  device_array<candidate_centre> candidates_;
  device_array<entry> heaps_, nearest_;
  device_array<int> nearest_count_;
  device_array<std::uint32_t> centres_;
  device_array<float> radii_;
  device_array<std::uint32_t> members_;
};

template <metric M>
pivot_table build_pivots_on(backend& place, const typename M::set& objects, const pivot_rule& rule,
                            job_watch* watch) {
  const std::int64_t n = objects.count();
  pivot_table table = table_for(rule);
  const std::size_t staged = M::staged_bytes(objects);
  require_shared(place.description(), staged, "build on the CPU");
  const std::int64_t blocks = build_blocks(place, n);
  const uploaded<M> on_device(place, objects);
  const device_array<float> row(place, n);
  device_array<float> nearest(place, n);
  nearest.fill(std::numeric_limits<float>::infinity());
  device_array<std::uint32_t> next(place, 1);
  for (std::uint32_t pivot = 0; pivot != no_object;) {
    next.fill(no_object);
    require_ok(start<pivot_kernel<M>>(place.executor(), {blocks, build_threads, staged},
                                      {.objects = on_device.view,
                                       .pivot = pivot,
                                       .separation = separation_of(rule.diameter, rule.alpha),
                                       .row = row.view(),
                                       .nearest = nearest.view(),
                                       .next = next.view()}));
    require_ok(place.synchronise());
    table.pivots.push_back(pivot);
    require_few_pivots(table.count(), rule.alpha);
    const std::vector<float> distances = row.download();
    table.distances.insert(table.distances.end(), distances.begin(), distances.end());
    if (table.count() == rule.most) return table;
    pivot = next.download()[0];
    tell(watch, pivot == no_object ? n : pivot);
  }
  require_as_many_pivots(table.count(), rule);
  return table;
}

}  // namespace kselect::search::metric_space
