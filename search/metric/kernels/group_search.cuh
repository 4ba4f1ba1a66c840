#pragma once
// Searches by groups: the k nearest objects, and all within a radius.

#include "kselect/simt/assert.hpp"
#include "search/metric/kernels/hit_list.cuh"
#include "search/metric/kernels/pivot_groups.cuh"

namespace kselect::search::metric_space {

// `Job`: a group_job, of clusters or of pivots.
template <class M, class Job = group_job<M>>
struct nearest_kernel {
  static constexpr int max_threads = group_threads, min_blocks = group_blocks;
  struct storage {
    group_storage group;
    entry bound[simt::warp_size];  // a greater entry is none of the k nearest
    int found[simt::warp_size];    // entries in a query's list
    int full[3];                   // of this part, the next and the last: whether a list is long
  };
  struct args {
    Job job;  // lists: entries, room for list_room()
    int k;
    simt::global<const float> radii;     // [Q], each with at least k objects
    simt::global<std::int64_t> objects;  // as in knn_job
    simt::global<float> distances;
  };
  // A list longer than this is cut to its k least entries before each thread may add one.
  KSELECT_HD static constexpr int longest_list(int k) { return 2 * k > k + 64 ? 2 * k : k + 64; }
  static constexpr int list_room(int k, int threads) { return longest_list(k) + threads; }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const group<M, Simt, Job> g(simt, a.job);
    begin_group(g, shared.group, [&](std::int64_t number) { return simt.load(a.radii, number); });
    if (simt.lane() == 0) shared.bound[simt.warp()] = ~entry{0};
    // Mostly few more than k objects are within the first radius. A list that runs over gives a
    // radius that has far fewer, and the group begins again. In the last turn the warps wait for
    // each other after each part and cut long lists, which ends with any objects.
    constexpr int turns = 4;
    for (int turn = 0; turn < turns; ++turn) {
      find(g, shared, a, turn == turns - 1);
      if (!any_ran_over(g, shared, a)) break;
      simt.sync_block();  // all have read the counts
      if (simt.warp() < g.active) narrow(g, shared, a);
    }
    if (simt.warp() < g.active) write(g, shared, a);
  }

 private:
  // Lists the objects within the queries' radii and bounds. Without cuts it ends soon after a list
  // ran over.
  template <class Simt>
  KSELECT_HD static void find(const group<M, Simt, Job>& g, storage& shared, const args& a,
                              bool cuts) {
    Simt& simt = g.simt;
    begin_search(g, shared.group);
    if (simt.lane() == 0) shared.found[simt.warp()] = 0;
    if (simt.thread() < 3) shared.full[simt.thread()] = 0;
    simt.sync_block();
    int part = 0;
    const int room = a.job.layout.room, enough = cuts ? longest_list(a.k) : room;
    search_group(
        g, shared.group,
        [&](int q, float d, std::int64_t object) {
          const entry e = make_entry(d, object);
          if (e > shared.bound[q]) return;
          const int place = simt.atomic_add(shared.found[q], 1);
          if (place < room) g.template list<entry>(q)[place] = e;
          simt.count(simt::counter::queue_inserts);
          if (place >= enough) shared.full[part] = 1;  // all who write it write the same
        },
        [&] {
          // A warp may see the flag late, since no barrier is between, and then only does more. All
          // its lanes must see the same value, so they vote.
          if (!cuts) return simt.ballot(simt::full_mask, shared.full[0] != 0) == 0;
          part = end_part(g, shared, a.k, part);
          return true;
        });
    simt.sync_block();
  }

  template <class Simt>
  KSELECT_HD static bool any_ran_over(const group<M, Simt, Job>& g, const storage& shared,
                                      const args& a) {
    bool any = false;
    for (int q = 0; q < g.active; ++q) any = any || shared.found[q] > a.job.layout.room;
    return any;
  }
  // Takes the k-th least entry of a list that ran over as the bound of the warp's own query.
  template <class Simt>
  KSELECT_HD static void narrow(const group<M, Simt, Job>& g, storage& shared, const args& a) {
    Simt& simt = g.simt;
    const int own = simt.warp();
    const bool ran_over = shared.found[own] > a.job.layout.room;
    simt.sync_warp(simt::full_mask);
    if (!ran_over) return;
    if (simt.lane() == 0) shared.found[own] = a.job.layout.room;
    simt.sync_warp(simt::full_mask);
    cut(g, shared, a.k);
    const float radius = distance_of(shared.bound[own]);
    if (simt.lane() == 0 && radius < shared.group.radius[own]) shared.group.radius[own] = radius;
  }

  // Cuts long lists. Returns the number of the next part.
  template <class Simt>
  KSELECT_HD static int end_part(const group<M, Simt, Job>& g, storage& shared, int k, int part) {
    Simt& simt = g.simt;
    const int next = part == 2 ? 0 : part + 1;
    simt.sync_block();
    // No thread reads the last part's flag any more, and none writes it before the next barrier.
    if (simt.thread() == 0) shared.full[next == 2 ? 0 : next + 1] = 0;
    if (shared.full[part] == 0) return next;
    if (shared.found[simt.warp()] > longest_list(k)) cut(g, shared, k);
    simt.sync_block();
    return next;
  }

  // The number of entries of the list that are less than e.
  KSELECT_HD static int rank(const entry* list, int count, entry e) {
    int less = 0;
    for (int i = 0; i < count; ++i) less += list[i] < e ? 1 : 0;
    return less;
  }

  // Leaves the k least entries of the warp's own list, in any order.
  template <class Simt>
  KSELECT_HD static void cut(const group<M, Simt, Job>& g, storage& shared, int k) {
    Simt& simt = g.simt;
    const int own = simt.warp(), count = shared.found[own];
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
      // After the ballot no lane reads what is overwritten here.
      const std::uint32_t mask = simt.ballot(simt::full_mask, keeps);
      if (keeps) list[kept + Simt::popc(mask & simt.lanemask_lt())] = e;
      kept += Simt::popc(mask);
      simt.sync_warp(simt::full_mask);
    }
    if (simt.lane() == 0) shared.found[own] = kept;
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
  static constexpr int max_threads = group_threads, min_blocks = group_blocks;
  struct storage {
    group_storage group;
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
    search_group(
        g, shared.group,
        [&](int q, float d, std::int64_t object) {
          a.hits.add(
              simt, [&] { return simt.load(a.job.order, g.first + q); }, d, object);
        },
        [] { return true; });
  }
};

}  // namespace kselect::search::metric_space
