#pragma once
// Before a search by groups: which cluster each query is nearest to, and a radius that has k
// objects.
//
// That radius is the distance of the k-th nearest object of a sample: members of the query's
// nearest clusters, if these lie by their distances to the centre those about as far from it as the
// query. It is mostly near the final one, and a search within it needs no second turn.

#include "kselect/simt/assert.hpp"
#include "search/metric/kernels/groups.cuh"
#include "search/metric/kernels/near_objects.cuh"

namespace kselect::search::metric_space {

template <class M, int at_once = at_once_if_short<M>>
struct approach_kernel {
  using Job = group_job<M, near_objects<M>, at_once>;
  static constexpr int max_threads = group_threads, min_blocks = group_blocks<Job>;
  struct storage {
    std::uint32_t bins[simt::warp_size];  // of the group's queries
  };
  struct args {
    Job job;   // lists: distances as bits
    int k;     // 0: no radius is wanted
    int bins;  // of a cluster's queries, by their distances from its centre
    simt::global<std::uint32_t> bin_of;  // [Q] nearest cluster * bins + bin
    simt::global<std::uint32_t> counts;  // [clusters * bins] queries of each; 0 before
    simt::global<std::uint32_t> ranks;   // [Q] the query's place among those of its bin
    simt::global<float> radii;           // [Q]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const group<M, Simt, Job> g(simt, a.job);
    for (int q = 0; q < g.active; ++q) M::stage(simt, a.job.queries, g.first + q, g.staged(q));
    simt.sync_block();
    const int clusters = a.job.walk.clusters;
    auto* const away = g.template of_clusters<float>();  // [queries][clusters]
    for (int c = simt.thread(); c < clusters; c += simt.threads()) {
      measure_all(g, a.job.walk.centres, c, nullptr, g.all(), [&](int q, float d) {
        away[q * clusters + c] = d;
        if (a.job.known.size > 0) simt.store(a.job.known, (g.first + q) * clusters + c, d);
      });
    }
    simt.sync_block();
    if (simt.warp() < g.active) {
      const int found = collect(g, a, shared, away + simt.warp() * clusters);
      if (a.k > 0) {
        const float radius = kth(simt, g.template list<std::uint32_t>(simt.warp()), found, a.k);
        if (simt.lane() == 0) simt.store(a.radii, g.first + simt.warp(), radius);
      }
    }
    simt.sync_block();
    if (simt.warp() == 0) give_ranks(g, a, shared);
  }

 private:
  static constexpr std::uint32_t infinity = 0x7f800000;  // as bits

  // One warp: a lane has a query. Those of the group that share a bin keep their order.
  template <class Simt>
  KSELECT_HD static void give_ranks(const group<M, Simt, Job>& g, const args& a,
                                    const storage& shared) {
    const int own = g.simt.lane();
    if (own >= g.active) return;
    const std::uint32_t bin = shared.bins[own];
    std::uint32_t rank = 0, all = 0;
    for (int q = 0; q < g.active; ++q) {
      if (shared.bins[q] != bin) continue;
      rank += q < own ? 1 : 0;
      ++all;
    }
    if (rank == 0) {
      std::uint32_t place = g.simt.atomic_add(a.counts, bin, all);
      for (int q = own; q < g.active; ++q) {
        if (shared.bins[q] == bin) g.simt.store(a.ranks, g.first + q, place++);
      }
    }
    g.simt.store(a.bin_of, g.first + own, bin);
  }

  // Measures objects of the nearest clusters until the list is full. Returns their number.
  template <class Simt>
  KSELECT_HD static int collect(const group<M, Simt, Job>& g, const args& a, storage& shared,
                                const float* away) {
    Simt& simt = g.simt;
    const near_objects<M>& near = a.job.walk;
    const int own = simt.warp(), room = a.k == 0 ? 0 : a.job.layout.room;
    auto* const list = g.template list<std::uint32_t>(own);
    centres_in_order<Simt> order(simt, away, near.clusters);
    int found = 0;
    for (int turn = 0; turn == 0 || (turn < near.clusters && found < room); ++turn) {
      const int c = order.next();
      if (turn == 0) {
        const int bin = c * a.bins + near.bin_of(simt, c, a.bins, away[c]);
        if (simt.lane() == 0) shared.bins[own] = static_cast<std::uint32_t>(bin);
      }
      if (found >= room) break;
      if (!near.in_order()) {
        if (simt.lane() == 0) list[found] = order_bits(away[c]);
        ++found;
      }
      found += measure_members(g, c, away[c], list + found, room - found);
    }
    simt.sync_warp(simt::full_mask);
    return found;
  }

  // Lists the distances of up to `room` members of a cluster. Returns their number.
  template <class Simt>
  KSELECT_HD static int measure_members(const group<M, Simt, Job>& g, int c, float away,
                                        std::uint32_t* list, int room) {
    const near_objects<M>& near = g.job.walk;
    const std::int64_t size = g.begin(c + 1) - g.begin(c);
    const int count = size < room ? static_cast<int>(size) : room;
    const std::int64_t first = near.first_of(g.simt, c, count, away);
    void* const staged[1] = {g.staged(g.simt.warp())};
    const float unbounded[1] = {INFINITY};
    for (int i = g.simt.lane(); i < count; i += simt::warp_size) {
      measure_within<M, 1>(g.simt, near.members, first + i, staged, unbounded,
                           [&](int, float d) { list[i] = order_bits(d); });
    }
    return count;
  }

  // A warp's centres by distance and number. A lane keeps the nearest few of its own, and looks at
  // its centres again only when those are used up.
  template <class Simt>
  class centres_in_order {
   public:
    KSELECT_HD centres_in_order(Simt& simt, const float* away, int clusters)
        : simt_(simt), away_(away), clusters_(clusters) {
      look(false, 0);
    }
    // All lanes, at most once for each centre.
    KSELECT_HD int next() {
      const entry best = least_of_warp(simt_, own_[0]);
      KSELECT_ASSERT(best != none);
      if (own_[0] == best) {  // in one lane: it has the number
        KSELECT_UNROLL
        for (int j = 1; j < kept; ++j) own_[j - 1] = own_[j];
        own_[kept - 1] = none;
        if (own_[0] == none) look(true, best);
      }
      return static_cast<int>(object_of(best));
    }

   private:
    static constexpr int kept = 4;
    static constexpr entry none = ~entry{0};

    // Finds the lane's nearest centres, if `later` those after one.
    KSELECT_HD void look(bool later, entry after) {
      KSELECT_UNROLL
      for (int j = 0; j < kept; ++j) own_[j] = none;
      for (int c = simt_.lane(); c < clusters_; c += simt::warp_size) {
        entry e = make_entry(away_[c], c);
        if (e >= own_[kept - 1] || (later && e <= after)) continue;
        KSELECT_UNROLL
        for (int j = 0; j < kept; ++j) {
          const entry further = e < own_[j] ? own_[j] : e;
          own_[j] = e < own_[j] ? e : own_[j];
          e = further;
        }
      }
    }

    Simt& simt_;
    const float* away_;
    int clusters_;
    entry own_[kept];
  };

  // Distances are not negative: their bits have their order.
  KSELECT_HD static std::uint32_t order_bits(float distance) {
    return order_key(distance) & 0x7fffffff;
  }

  // The k-th least distance of a list, by bisection; infinity if there are fewer.
  template <class Simt>
  KSELECT_HD static float kth(Simt& simt, const std::uint32_t* list, int found, int k) {
    std::uint32_t low = found < k ? infinity : 0, high = infinity;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      std::uint32_t count = 0;
      for (int i = simt.lane(); i < found; i += simt::warp_size) count += list[i] <= middle ? 1 : 0;
      count = simt.reduce_add(simt::full_mask, count);
      if (count >= static_cast<std::uint32_t>(k)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return from_order_key<float>(high | 0x80000000);
  }
};

}  // namespace kselect::search::metric_space
