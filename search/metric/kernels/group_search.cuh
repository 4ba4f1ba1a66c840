#pragma once
// Searches by groups: the k nearest objects, and all within a radius.

#include "kselect/simt/assert.hpp"
#include "search/metric/kernels/cluster_groups.cuh"
#include "search/metric/kernels/hit_list.cuh"
#include "search/metric/kernels/pivot_groups.cuh"

namespace kselect::search::metric_space {

// `Job`: a group_job, of clusters or of pivots.
template <class M, class Job = group_job<M>>
struct nearest_kernel {
  static constexpr int max_threads = group_threads, min_blocks = group_blocks<Job>;
  struct storage {
    group_storage<Job> group;
    entry bound[simt::warp_size];  // a greater entry is none of the k nearest
    int found[simt::warp_size];    // entries in a query's list
    int wanted;                    // the number of the next meeting, once a list is long
    int finished;                  // warps that have searched
    int ran_over;                  // whether an entry found no room
  };
  struct args {
    Job job;  // lists: entries, room for list_room()
    int k;
    simt::global<const float> radii;     // [Q], each with at least k objects
    simt::global<std::int64_t> objects;  // as in knn_job
    simt::global<float> distances;
  };
  // A list longer than this is cut to its k least entries. The warps meet for it after their parts,
  // in each of which a thread mostly adds no more than an entry. A part has up to two objects for a
  // thread; a list that has no room for all begins again.
  // A cut costs the warps a wait, and spares distances. Where no screening makes these cheap, it is
  // worth that sooner.
  KSELECT_HD static constexpr int longest_list(int k) {
    if (Job::at_once == one_at_once) return 2 * k > k + 64 ? 2 * k : k + 64;
    return k / 2 > 16 ? k + k / 2 : k + 16;
  }
  static constexpr int worth_a_cut = 8;  // entries more than k, when the warps meet
  static constexpr int list_room(int k, int threads) { return longest_list(k) + threads; }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const group<M, Simt, Job> g(simt, a.job);
    begin_group(g, shared.group, [&](std::int64_t number) { return simt.load(a.radii, number); });
    if (simt.lane() == 0) shared.bound[simt.warp()] = ~entry{0};
    // A warp may hear late that a list is long, or compare gathered pairs of several parts, and add
    // an entry for which there is no room. Then the group begins again. Each time the list's bound
    // is less, so this ends.
    do {
      simt.sync_block();  // all have read whether a list ran over
      search<Simt>(g, shared, a).run();
    } while (shared.ran_over != 0);
    if (simt.warp() < g.active) write(g, shared, a);
  }

 private:
  // Lists the objects within the queries' radii and bounds. Mostly few more than k are within the
  // first radius. When a list is long, the warps meet after their parts, and each cuts its own
  // query's list, which lowers its radius for the objects that are left.
  template <class Simt>
  class search {
   public:
    KSELECT_HD search(const group<M, Simt, Job>& g, storage& shared, const args& a)
        : g_(g), shared_(shared), a_(a) {}

    KSELECT_HD void run() {
      Simt& simt = g_.simt;
      begin_search(g_, shared_.group);
      if (simt.lane() == 0) shared_.found[simt.warp()] = 0;
      if (simt.thread() == 0) shared_.wanted = shared_.finished = shared_.ran_over = 0;
      simt.sync_block();
      const auto found = [&](int q, float d, std::int64_t object) { add(q, d, object); };
      auto parts = parts_of(g_, shared_.group, found);
      parts.begin([&] { cut_together(); });
      for (bool searches = true;;) {
        while (searches && !is_wanted()) {
          searches = parts.next();
          if (!searches && simt.lane() == 0) simt.atomic_add(shared_.finished, 1);
        }
        // Warps come here from different parts, and those that have none any more.
        simt.sync_warp(simt::full_mask);
        simt.sync_block();  // until the next barrier nobody writes what is read here
        if (shared_.finished == simt.warps() && shared_.wanted == met_) return;
        cut_own();
      }
    }

   private:
    KSELECT_HD void add(int q, float d, std::int64_t object) {
      const entry e = make_entry(d, object);
      if (e > shared_.bound[q]) return;
      const int place = g_.simt.atomic_add(shared_.found[q], 1);
      if (place < a_.job.layout.room) {
        g_.template list<entry>(q)[place] = e;
      } else {
        g_.simt.atomic_max(shared_.ran_over, 1);
      }
      g_.simt.count(simt::counter::queue_inserts);
      if (place >= longest_list(a_.k)) g_.simt.atomic_max(shared_.wanted, met_ + 1);
    }

    // Whether the warps are to meet. All lanes of a warp must hear the same.
    KSELECT_HD bool is_wanted() {
      Simt& simt = g_.simt;
      const int wanted = simt.lane() == 0 ? simt.atomic_add(shared_.wanted, 0) : 0;
      return simt.shfl(simt::full_mask, wanted, 0) != met_;
    }
    // Where all warps are between the same parts anyway.
    KSELECT_HD void cut_together() {
      g_.simt.sync_block();
      const bool wanted = is_wanted();
      g_.simt.sync_block();
      if (wanted) cut_own();
    }
    // All threads of the block, after a barrier. Ends with one.
    KSELECT_HD void cut_own() {
      if (shared_.found[g_.simt.warp()] >= a_.k + worth_a_cut) cut(g_.simt, shared_, a_);
      ++met_;
      g_.simt.sync_block();
    }

    const group<M, Simt, Job>& g_;
    storage& shared_;
    const args& a_;
    int met_ = 0;  // times that the warps have met
  };

  // The number of entries of the list that are less than e.
  KSELECT_HD static int rank(const entry* list, int count, entry e) {
    int less = 0;
    for (int i = 0; i < count; ++i) less += list[i] < e ? 1 : 0;
    return less;
  }

  // Leaves the k least entries of the warp's own list, in any order. The greatest of them bounds
  // the query's radius. Takes no address of what a search holds in registers.
  template <class Simt>
  KSELECT_RARE KSELECT_HD static void cut(Simt simt, storage& shared, const args& a) {
    const group<M, Simt, Job> g(simt, a.job);
    const int own = simt.warp(), room = a.job.layout.room, k = a.k;
    const int count = shared.found[own] < room ? shared.found[own] : room;
    auto* const list = g.template list<entry>(own);
    simt.count(simt::counter::queue_merges, simt.lane() == 0 ? 1 : 0);
    for (int i = simt.lane(); i < count; i += simt::warp_size) {
      if (rank(list, count, list[i]) == k - 1) shared.bound[own] = list[i];
    }
    simt.sync_warp(simt::full_mask);
    int kept = 0;
    for (int base = 0; base < count; base += simt::warp_size) {
      const int i = base + simt.lane();
      const entry e = i < count ? list[i] : ~entry{0};
      const bool keeps = i < count && e <= shared.bound[own];
      const std::uint32_t mask = simt.ballot(simt::full_mask, keeps);
      simt.sync_warp(simt::full_mask);  // from here on no lane reads what is overwritten
      if (keeps) list[kept + Simt::popc(mask & simt.lanemask_lt())] = e;
      kept += Simt::popc(mask);
      simt.sync_warp(simt::full_mask);
    }
    if (simt.lane() == 0) {
      shared.found[own] = kept;
      const float radius = distance_of(shared.bound[own]);
      if (radius < shared.group.radius[own]) shared.group.radius[own] = radius;
    }
    simt.sync_warp(simt::full_mask);
  }

  // Writes the warp's own answer: an entry's rank is its place.
  template <class Simt>
  KSELECT_HD static void write(const group<M, Simt, Job>& g, storage& shared, const args& a) {
    Simt& simt = g.simt;
    const int own = simt.warp(), count = shared.found[own];
    KSELECT_ASSERT(count >= a.k);
    const auto* const list = g.template list<entry>(own);
    const std::int64_t row = std::int64_t{simt.load(a.job.order, g.first + own)} * a.k;
    for (int i = simt.lane(); i < count; i += simt::warp_size) {
      const int place = rank(list, count, list[i]);
      if (place >= a.k) continue;
      simt.store(a.objects, row + place, object_of(list[i]));
      simt.store(a.distances, row + place, distance_of(list[i]));
    }
  }
};

template <class M, class Job = group_job<M>>
struct within_group_kernel {
  static constexpr int max_threads = group_threads, min_blocks = group_blocks<Job>;
  struct storage {
    group_storage<Job> group;
  };
  struct args {
    Job job;  // without lists
    float radius;
    hit_list hits;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const group<M, Simt, Job> g(simt, a.job);
    begin_group(g, shared.group, [&](std::int64_t) { return a.radius; });
    begin_search(g, shared.group);
    simt.sync_block();
    const auto found = [&](int q, float d, std::int64_t object) {
      a.hits.add(
          simt, [&] { return simt.load(a.job.order, g.first + q); }, d, object);
    };
    auto parts = parts_of(g, shared.group, found);
    parts.begin([] {});
    while (parts.next()) {
    }
  }
};

}  // namespace kselect::search::metric_space
