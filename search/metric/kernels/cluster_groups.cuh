#pragma once
// Searches of a List of Clusters by groups, ours: which clusters some query of the group needs, and
// their members.

#include "search/metric/kernels/member_search.cuh"

namespace kselect::search::metric_space {

// A group that searches a list of clusters.
template <class M, class Simt, int at_once>
using cluster_group = group<M, Simt, group_job<M, typename cluster_walk<M>::args, at_once>>;

// Measures the centres, and finds which queries no bound keeps from a cluster: a mask for each.
template <class Group, class F, class Between>
KSELECT_HD void ask_centres(const Group& g, typename Group::storage& shared, const F& f,
                            const Between& between) {
  auto& simt = g.simt;
  const auto& walk = g.job.walk;
  auto* const masks = g.template of_clusters<std::uint32_t>();
  for (int base = 0; base < walk.clusters; base += simt.threads()) {
    const int c = base + simt.thread();
    if (c < walk.clusters) {
      const float reach = simt.load(walk.radii, c);
      std::uint32_t mask = 0;
      measure_centre(g, shared, walk.centres, c, [&](int q, float d) {
        const float radius = shared.radius[q];
        if (d <= radius) f(q, d, simt.load(walk.centre_numbers, c));
        if (!separated(d, reach, radius, walk.slack)) mask |= 1U << q;
        if (separated(reach, d, radius, walk.slack)) simt.atomic_min(shared.last[q], c);
      });
      masks[c] = mask;
    }
    between();
  }
  simt.sync_block();
}

// Takes from each mask the queries that an earlier cluster contains, and lists the others.
template <class Group>
KSELECT_HD void list_clusters(const Group& g, typename Group::storage& shared) {
  auto& simt = g.simt;
  const int clusters = g.job.walk.clusters;
  auto* const masks = g.template of_clusters<std::uint32_t>();
  auto* const list = reinterpret_cast<int*>(masks + clusters);
  for (int c = simt.thread(); c < clusters; c += simt.threads()) {
    std::uint32_t mask = masks[c];
    for (int q = 0; q < g.active; ++q) {
      if (c > shared.last[q]) mask &= ~(1U << q);
    }
    const std::int64_t size = g.begin(c + 1) - g.begin(c);
    simt.count(simt::counter::pruned, (g.active - simt.popc(mask)) * size);
    masks[c] = mask;
    if (mask != 0 && size > 0) list[simt.atomic_add(shared.listed, 1)] = c;
  }
  simt.sync_block();
}

// The search of a group's clusters in parts: of a cluster that a warp took, up to two members a
// lane. Calls f(q, distance, object) in one thread for each object that is at most the radius of
// query q of the group away. A radius may shrink between two parts.
template <class Group, class F>
class cluster_parts {
 public:
  using storage = typename Group::storage;
  KSELECT_HD cluster_parts(const Group& g, storage& shared, const F& f)
      : g_(g), shared_(shared), f_(f), members_(g, shared, f) {}

  // All threads, once, before the parts. They call between() together after each few centres.
  template <class Between>
  KSELECT_HD void begin(const Between& between) {
    ask_centres(g_, shared_, f_, between);
    list_clusters(g_, shared_);
  }

  // The warp's next part. False if there is none any more.
  KSELECT_HD bool next() {
    if (left_ <= 0 && !take_cluster()) {
      members_.finish();
      return false;
    }
    for (int step = 0; step < 2 && left_ > 0; ++step) {
      members_.compare(i_ < end_, i_, mask_);
      i_ += simt::warp_size;
      left_ -= simt::warp_size;
    }
    return true;
  }

 private:
  // Warps take clusters of the list in turn, one when the last is done: none waits long for the
  // others. False if all are taken. Object numbers have 32 bits; so have registers.
  KSELECT_HD bool take_cluster() {
    auto& simt = g_.simt;
    const auto* const masks = g_.template of_clusters<std::uint32_t>();
    const auto* const list = reinterpret_cast<const int*>(masks + g_.job.walk.clusters);
    const int taken = simt.lane() == 0 ? simt.atomic_add(shared_.taken, 1) : 0;
    const int at = simt.shfl(simt::full_mask, taken, 0);
    if (at >= shared_.listed) return false;
    const int c = list[at];
    mask_ = masks[c];
    if (simt.lane() == 0) simt.count(simt::counter::clusters, simt.popc(mask_));
    const auto begin = static_cast<int>(g_.begin(c));
    end_ = static_cast<int>(g_.begin(c + 1));
    i_ = begin + simt.lane();
    left_ = end_ - begin;
    return true;
  }

  const Group& g_;
  storage& shared_;
  const F& f_;
  member_search<Group, F> members_;
  int i_ = 0, end_ = 0, left_ = 0;
  std::uint32_t mask_ = 0;
};
template <class M, class Simt, int at_once, class F>
KSELECT_HD auto parts_of(const cluster_group<M, Simt, at_once>& g,
                         typename cluster_group<M, Simt, at_once>::storage& shared, const F& f) {
  return cluster_parts<cluster_group<M, Simt, at_once>, F>(g, shared, f);
}

}  // namespace kselect::search::metric_space
