#pragma once
// Searches of an SSS-Index by groups, ours. A thread has one object. It reads the object's distance
// to a pivot once and tests all queries of the group on it, until none is left; then it compares
// the object with the queries that no pivot ruled out. The thesis' threads read the table once for
// every query.
//
// The queries of a group are near the same pivot, so they mostly keep the same objects.

#include "search/metric/kernels/groups.cuh"

namespace kselect::search::metric_space {

template <class M>
using pivot_group_job = group_job<M, pivot_args<M>>;  // the table: [pivots][objects]

// Tests of that many pivots have their loads in flight together.
inline constexpr int pivots_at_once = 4;

// A group's distances to the pivots: [pivots][warps], so that a pivot's are neighbours.
template <class M, class Simt>
KSELECT_HD float* pivot_distances(const group<M, Simt, pivot_group_job<M>>& g) {
  return g.template of_clusters<float>();
}

template <class M, class Simt>
KSELECT_HD void ask_pivots(const group<M, Simt, pivot_group_job<M>>& g,
                           const group_storage& shared) {
  Simt& simt = g.simt;
  const int stride = simt.warps();
  auto* const measured = pivot_distances(g);
  for (int p = simt.thread(); p < g.job.walk.count; p += simt.threads()) {
    measure_centre(g, shared, g.job.walk.pivots, p,
                   [&](int q, float d) { measured[p * stride + q] = d; });
  }
  simt.sync_block();
}

// The queries that no pivot keeps from object i.
template <class M, class Simt>
KSELECT_HD std::uint32_t kept_queries(const group<M, Simt, pivot_group_job<M>>& g,
                                      const group_storage& shared, std::int64_t i) {
  const pivot_args<M>& walk = g.job.walk;
  const std::int64_t n = walk.objects.count;
  const int stride = g.simt.warps();
  const float* const measured = pivot_distances(g);
  std::uint32_t mask = g.all();
  for (int first = 0; first < walk.count && mask != 0; first += pivots_at_once) {
    float known[pivots_at_once];
    KSELECT_UNROLL
    for (int j = 0; j < pivots_at_once; ++j) {
      // The last pivot again where there are no more: the test is the same.
      const int p = first + j < walk.count ? first + j : walk.count - 1;
      known[j] = g.simt.load(walk.table, p * n + i);
    }
    KSELECT_UNROLL
    for (int j = 0; j < pivots_at_once; ++j) {
      const int p = first + j < walk.count ? first + j : walk.count - 1;
      for (int q = 0; q < g.active; ++q) {
        if (apart(measured[p * stride + q], known[j], shared.radius[q], walk.slack)) {
          mask &= ~(1U << q);
        }
      }
    }
  }
  return mask;
}

// As search_group of clusters.
template <class M, class Simt, class F, class Round>
KSELECT_HD void search_group(const group<M, Simt, pivot_group_job<M>>& g, group_storage& shared,
                             const F& f, const Round& round) {
  Simt& simt = g.simt;
  ask_pivots(g, shared);
  const std::int64_t n = g.job.walk.objects.count;
  for (std::int64_t base = 0; base < n; base += simt.threads()) {
    const std::int64_t i = base + simt.thread();
    if (i < n) {
      const std::uint32_t mask = kept_queries(g, shared, i);
      simt.count(simt::counter::pruned, g.active - Simt::popc(mask));
      measure_all(g, g.job.walk.objects, i, shared.radius, mask,
                  [&](int q, float d) { f(q, d, i); });
    }
    round();
  }
}

}  // namespace kselect::search::metric_space
