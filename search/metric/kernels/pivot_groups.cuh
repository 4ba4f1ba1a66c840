#pragma once
// Searches of an SSS-Index by groups, ours. A thread has one object. It reads the object's distance
// to a pivot once and tests all queries of the group on it, until none is left or further tests
// would take longer than the distances that they save; then it compares the object with the queries
// that no pivot ruled out. The thesis' threads read the table once for every query, and test all
// pivots.
//
// The queries of a group are about as far from the same pivot, so they mostly keep the same
// objects. The objects lie in the order of their nearest pivots, and of the distances to these, so
// a warp mostly keeps all of its objects or none.

#include "search/metric/kernels/member_search.cuh"
#include "search/metric/kernels/near_objects.cuh"

namespace kselect::search::metric_space {

// Of the table [pivots][objects].
template <class M>
using pivot_group_job = group_job<M, pivot_args<M>>;
template <class M, class Simt, int at_once>
using pivot_group = group<M, Simt, group_job<M, pivot_args<M>, at_once>>;

// Tests of that many pivots have their loads in flight together.
inline constexpr int pivots_at_once = 4;

// A group's distances to the pivots: [pivots][warps], so that a pivot's are neighbours.
template <class Group>
KSELECT_HD float* pivot_distances(const Group& g) {
  return g.template of_clusters<float>();
}

template <class Group>
KSELECT_HD void ask_pivots(const Group& g, const typename Group::storage& shared) {
  auto& simt = g.simt;
  const int stride = simt.warps();
  auto* const measured = pivot_distances(g);
  for (int p = simt.thread(); p < g.job.walk.count; p += simt.threads()) {
    measure_centre(g, shared, g.job.walk.pivots, p,
                   [&](int q, float d) { measured[p * stride + q] = d; });
  }
  simt.sync_block();
}

// How many tests take about as long as a distance. A test is of one query on one pivot. A metric
// that does not say gets a number above all tests.
template <class M>
KSELECT_HD int tests_of_distance(const typename M::view& objects) {
  if constexpr (requires { M::tests_of_distance(objects); }) {
    return M::tests_of_distance(objects);
  } else {
    return 1 << 16;
  }
}

// The pivot nearest to the group's first query, and mostly to all of them. Each warp finds it.
template <class Group>
KSELECT_HD int nearest_pivot(const Group& g) {
  auto& simt = g.simt;
  const float* const measured = pivot_distances(g);
  entry best = ~entry{0};
  for (int p = simt.lane(); p < g.job.walk.count; p += simt::warp_size) {
    const entry e = make_entry(measured[p * simt.warps()], p);
    best = e < best ? e : best;
  }
  return static_cast<int>(object_of(least_of_warp(simt, best)));
}

// Takes from the masks of a warp's objects the queries that pivots keep from them. The pivot
// nearest to the queries comes first: it mostly rules out most. A warp takes as long as its thread
// with most queries. So further pivots are tested while the last ones took enough queries from that
// thread.
template <class Group>
class pivot_tests {
 public:
  using M = typename Group::metric;
  KSELECT_HD pivot_tests(const Group& g, const typename Group::storage& shared)
      : g_(g),
        shared_(shared),
        apart_(g.job.walk.slack),
        price_(tests_of_distance<M>(g.job.walk.objects)),
        nearest_(nearest_pivot(g)) {}

  // Of the objects of the nearest pivot the first that is as far from it as the group's first
  // query: near ones are mostly around it, and those that are found first bound the radius.
  KSELECT_HD std::int64_t middle() const {
    const pivot_args<M>& walk = g_.job.walk;
    const float away = pivot_distances(g_)[nearest_ * g_.simt.warps()];
    const std::int64_t base = nearest_ * walk.objects.count;
    const std::int64_t first = base + g_.simt.load(walk.cells, nearest_);
    const std::int64_t last = base + g_.simt.load(walk.cells, nearest_ + 1);
    return first_from(g_.simt, walk.table, first, last, away) - base;
  }

  KSELECT_HD std::uint32_t kept(std::int64_t i, std::uint32_t mask) const {
    if (g_.job.walk.count == 0) return mask;
    int left = most(mask);
    mask = tested<1>(i, 0, mask);
    for (int first = 1, tests = g_.active; first < g_.job.walk.count; first += pivots_at_once) {
      const int now = most(mask);
      if (now == 0 || (left - now) * price_ < tests) break;
      left = now;
      tests = pivots_at_once * g_.active;
      mask = tested<pivots_at_once>(i, first, mask);
    }
    return mask;
  }

 private:
  // The queries of the object that has most.
  KSELECT_HD int most(std::uint32_t mask) const {
    const auto own = static_cast<std::uint32_t>(Group::executor::popc(mask));
    return static_cast<int>(g_.simt.reduce_max(simt::full_mask, own));
  }
  // The nearest is number 0. Beyond the last comes the last again: the test is the same.
  KSELECT_HD int pivot(int number) const {
    const int last = g_.job.walk.count - 1, at = number < last ? number : last;
    if (at == 0) return nearest_;
    return at <= nearest_ ? at - 1 : at;
  }

  template <int count>
  KSELECT_HD std::uint32_t tested(std::int64_t i, int first, std::uint32_t mask) const {
    const pivot_args<M>& walk = g_.job.walk;
    float known[count];
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) {
      known[j] = g_.simt.load(walk.table, pivot(first + j) * walk.objects.count + i);
    }
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) {
      if (known[j] < INFINITY) mask &= ~ruled_out(pivot(first + j), known[j]);
    }
    return mask;
  }

  // The queries of which an object at this distance from the pivot is none of the hits.
  KSELECT_HD std::uint32_t ruled_out(int pivot, float known) const {
    constexpr int most = group_threads / simt::warp_size;
    const float* const of_pivot = pivot_distances(g_) + pivot * g_.simt.warps();
    std::uint32_t out = 0;
    if (g_.active < most) {
      for (int q = 0; q < g_.active; ++q) {
        if (apart_(of_pivot[q], known, shared_.radius[q])) out |= 1U << q;
      }
      return out;
    }
    KSELECT_UNROLL
    for (int q = 0; q < most; q += 4) {
      const four measured = reinterpret_cast<const four*>(of_pivot)[q / 4];
      const four radii = reinterpret_cast<const four*>(shared_.radius)[q / 4];
      KSELECT_UNROLL
      for (int j = 0; j < 4; ++j) {
        if (apart_(measured.of[j], known, radii.of[j])) out |= 1U << (q + j);
      }
    }
    return out;
  }
  struct alignas(16) four {
    float of[4];
  };

  const Group& g_;
  const typename Group::storage& shared_;
  separation apart_;
  int price_, nearest_;
};

// As cluster_parts. A part has an object for each thread of the block.
template <class Group, class F>
class pivot_parts {
 public:
  KSELECT_HD pivot_parts(const Group& g, typename Group::storage& shared, const F& f)
      : g_(g), members_(g, shared, f), tests_(after_asking(g, shared)) {
    // From some objects before the middle on, and around to there. The start is a multiple of
    // a warp's objects.
    const std::int64_t before = tests_.middle() - 2 * g.simt.threads();
    start_ = before < 0 ? 0 : before / simt::warp_size * simt::warp_size;
  }

  template <class Between>
  KSELECT_HD void begin(const Between&) {}

  KSELECT_HD bool next() {
    auto& simt = g_.simt;
    const std::int64_t n = g_.job.walk.objects.count, number = base_ + simt.thread();
    if (base_ >= n) {
      members_.finish();
      return false;
    }
    base_ += simt.threads();
    const std::int64_t i = start_ + number < n ? start_ + number : start_ + number - n;
    // Threads without an object test one again, for no query.
    const bool has = number < n;
    const std::uint32_t mask = tests_.kept(has ? i : start_, has ? g_.all() : std::uint32_t{0});
    if (has) simt.count(simt::counter::pruned, g_.active - Group::executor::popc(mask));
    members_.compare(has, i, mask);
    return true;
  }

 private:
  KSELECT_HD static pivot_tests<Group> after_asking(const Group& g,
                                                    typename Group::storage& shared) {
    ask_pivots(g, shared);
    return {g, shared};
  }

  const Group& g_;
  member_search<Group, F> members_;
  pivot_tests<Group> tests_;
  std::int64_t start_ = 0, base_ = 0;
};
template <class M, class Simt, int at_once, class F>
KSELECT_HD auto parts_of(const pivot_group<M, Simt, at_once>& g,
                         typename pivot_group<M, Simt, at_once>::storage& shared, const F& f) {
  return pivot_parts<pivot_group<M, Simt, at_once>, F>(g, shared, f);
}

}  // namespace kselect::search::metric_space
