#pragma once
// Searches by groups, ours. A block has a query for each of its warps. It reads a cluster that
// several of its queries need once from L2 for all of them (cluster_groups.cuh). So the queries of
// a group should need the same clusters: they are taken by nearest centre (query_order.cuh).
//
// On an SSS-Index a group reads the table of distances once for all of its queries
// (pivot_groups.cuh). These are taken by nearest pivot and by the distance to it.
//
//   approach_kernel      per query: the nearest centre, and for k-NN a radius that has k objects
//   order_kernel         the queries in the order in which groups take them
//   nearest_kernel       the k nearest objects of each query; needs those radii
//   within_group_kernel  all objects within one radius

#include "search/metric/kernels/screened_pairs.cuh"
#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

// A group's dynamic shared memory in bytes: the staged queries, then two numbers for each cluster
// (or, of an approach, one for each query and cluster), then `room` elements for each query.
struct group_layout {
  std::size_t stride, clusters, lists, bytes;  // of a staged query; two offsets; of all
  int room;

  static group_layout of(int queries, std::size_t staged_bytes, std::size_t cluster_bytes, int room,
                         std::size_t element) {
    const std::size_t stride = in_shared(staged_bytes);
    const auto count = static_cast<std::size_t>(queries);
    const std::size_t lists = count * stride + in_shared(cluster_bytes);
    return {stride, count * stride, lists, lists + count * static_cast<std::size_t>(room) * element,
            room};
  }
};

// Queries that a thread compares an object with at once. More share a load, which counts where
// objects are long; fewer leave registers for more blocks, which hide more of the waits. One: a
// warp lists the pairs that a test leaves over, and a thread compares one pair at a time. Centres
// and pivots are then compared with four.
inline constexpr int one_at_once = 1, few_at_once = 4, many_at_once = 8;
template <class M>
inline constexpr int at_once_if_short = screening<M> ? one_at_once : few_at_once;

// Of the kernels' blocks. They leave a thread 64, 80 and 128 registers.
inline constexpr int group_threads = 256;
template <class Job>
inline constexpr int group_blocks = Job::at_once == one_at_once   ? 4
                                    : Job::at_once == few_at_once ? 3
                                                                  : 2;

// The queries that groups take, and the index that they are searched in.
template <class M, class Walk = typename cluster_walk<M>::args,
          int most_at_once = at_once_if_short<M>>
struct group_job {
  static constexpr int at_once = most_at_once;
  typename M::view queries;
  Walk walk;
  std::int64_t count;
  simt::global<const std::uint32_t> order;  // [count] query numbers; of an approach unused
  group_layout layout;
  // [query number][centres or pivots]: what the approach measured; empty if it was not kept.
  simt::global<float> known;
};

// What a group knows of its queries.
template <class Job>
struct group_storage {
  std::uint32_t number[simt::warp_size];
  alignas(16) float radius[simt::warp_size];
  int last[simt::warp_size];  // as in cluster_walk
  int listed;                 // clusters that some query needs
  int taken;                  // of these, by some warp
  pair_memory<Job::at_once == one_at_once, group_threads / simt::warp_size> pairs;
};

// A block's part of a job: places `first` to first + active - 1 of the order.
template <class M, class Simt, class Job = group_job<M>>
struct group {
  using metric = M;
  using executor = Simt;
  using storage = group_storage<Job>;
  static constexpr bool by_pairs = Job::at_once == one_at_once;
  Simt& simt;
  const Job& job;
  std::int64_t first;
  int active;

  KSELECT_HD group(Simt& s, const Job& j)
      : simt(s), job(j), first(std::int64_t{s.block()} * s.warps()) {
    const std::int64_t left = j.count - first;
    active = left < s.warps() ? static_cast<int>(left) : s.warps();
  }
  // A mask of all queries.
  KSELECT_HD std::uint32_t all() const {
    return active == simt::warp_size ? simt::full_mask : (1U << active) - 1;
  }
  KSELECT_HD unsigned char* memory() const {
    return static_cast<unsigned char*>(simt.dynamic_shared());
  }
  KSELECT_HD void* staged(int q) const { return memory() + job.layout.stride * q; }
  template <class T>
  KSELECT_HD T* of_clusters() const {
    return reinterpret_cast<T*>(memory() + job.layout.clusters);
  }
  template <class T>
  KSELECT_HD T* list(int q) const {
    return reinterpret_cast<T*>(memory() + job.layout.lists) + std::int64_t{q} * job.layout.room;
  }
  KSELECT_HD std::int64_t begin(int cluster) const {
    return job.walk.of.first(simt, cluster, job.walk.members.count);
  }
};

// The least of a warp's entries, in every lane.
template <class Simt>
KSELECT_HD entry least_of_warp(Simt& simt, entry own) {
  for (int apart = simt::warp_size / 2; apart > 0; apart /= 2) {
    const entry other = simt.shfl_xor(simt::full_mask, own, apart);
    if (other < own) own = other;
  }
  return own;
}

// Calls f(j, distance) for each of `count` staged queries that object i is at most radii[j] away
// from. A metric may have a way of its own that gives the same distances (`distances_within`).
template <class M, int count, class Simt, class F>
KSELECT_HD void measure_within(Simt& simt, const typename M::view& objects, std::int64_t i,
                               void* const (&staged)[count], const float (&radii)[count],
                               const F& f) {
  simt.count(simt::counter::distances, count);
  if constexpr (requires { requires M::measures_several; }) {
    M::distances_within(simt, objects, i, staged, radii, f);
  } else {
    for (int j = 0; j < count; ++j) {
      const float d = M::distance(simt, objects, i, staged[j]);
      if (d <= radii[j]) f(j, d);
    }
  }
}

// Does so for the next `count` queries of a mask, and takes them from it. f(query, distance).
template <int count, class M, class Simt, class Job, class F>
KSELECT_HD void measure_next(const group<M, Simt, Job>& g, const typename M::view& objects,
                             std::int64_t i, const float* radii, std::uint32_t& mask, const F& f) {
  void* staged[count];
  float own[count];
  std::uint32_t queries = 0;  // four bits each: one register for all
  static_assert(count <= 8 && group_threads / simt::warp_size <= 16);
  KSELECT_UNROLL
  for (int j = 0; j < count; ++j) {
    const int q = Simt::ffs(mask) - 1;
    mask &= mask - 1;
    queries |= static_cast<std::uint32_t>(q) << (4 * j);
    staged[j] = g.staged(q);
    own[j] = radii == nullptr ? INFINITY : radii[q];
  }
  measure_within<M, count>(g.simt, objects, i, staged, own, [&](int j, float d) {
    f(static_cast<int>(queries >> (4 * j) & 15), d);
  });
}

// Calls f(query, distance) for each query of a mask that object i is at most its radius away from;
// without radii for each.
template <class M, class Simt, class Job, class F>
KSELECT_HD void measure_all(const group<M, Simt, Job>& g, const typename M::view& objects,
                            std::int64_t i, const float* radii, std::uint32_t mask, const F& f) {
  if constexpr (Job::at_once == many_at_once) {
    while (Simt::popc(mask) >= 8) measure_next<8>(g, objects, i, radii, mask, f);
  }
  while (Simt::popc(mask) >= 4) measure_next<4>(g, objects, i, radii, mask, f);
  if (Simt::popc(mask) >= 2) measure_next<2>(g, objects, i, radii, mask, f);
  if (mask != 0) measure_next<1>(g, objects, i, radii, mask, f);
}

// Calls f(q, distance) for each query of the group and one of the centres or pivots. Distances that
// the approach kept are not measured again.
template <class M, class Simt, class Job, class F>
KSELECT_HD void measure_centre(const group<M, Simt, Job>& g, const group_storage<Job>& shared,
                               const typename M::view& centres, int c, const F& f) {
  if (g.job.known.size == 0) return measure_all(g, centres, c, nullptr, g.all(), f);
  constexpr int most = group_threads / simt::warp_size;
  float known[most];  // loaded together
  KSELECT_UNROLL
  for (int q = 0; q < most; ++q) {
    if (q >= g.active) break;
    known[q] = g.simt.load(g.job.known, std::int64_t{shared.number[q]} * centres.count + c);
  }
  KSELECT_UNROLL
  for (int q = 0; q < most; ++q) {
    if (q < g.active) f(q, known[q]);
  }
}

// Of indexes whose objects are long.
template <class M>
using long_job = group_job<M, typename cluster_walk<M>::args, many_at_once>;
template <class M>
using long_pivot_job = group_job<M, pivot_args<M>, few_at_once>;

// Stages the queries of a group; radius(query number) is that of one.
template <class M, class Simt, class Job, class Radius>
KSELECT_HD void begin_group(const group<M, Simt, Job>& g, group_storage<Job>& shared,
                            const Radius& radius) {
  Simt& simt = g.simt;
  for (int q = 0; q < g.active; ++q) {
    const std::int64_t number = simt.load(g.job.order, g.first + q);
    M::stage(simt, g.job.queries, number, g.staged(q));
    if (simt.thread() != 0) continue;
    shared.number[q] = static_cast<std::uint32_t>(number);
    shared.radius[q] = radius(number);
  }
}
// Before the first part of a search. No thread may still read what an earlier one left. A barrier
// must follow.
template <class M, class Simt, class Job>
KSELECT_HD void begin_search(const group<M, Simt, Job>& g, group_storage<Job>& shared) {
  const int thread = g.simt.thread();
  if (thread < g.active) shared.last[thread] = 0x7fffffff;
  if (thread == 0) shared.listed = shared.taken = 0;
}

}  // namespace kselect::search::metric_space
