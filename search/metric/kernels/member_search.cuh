#pragma once
// Compares objects of an index with the queries of a group.

#include "search/metric/kernels/groups.cuh"
#include "search/metric/kernels/screened_pairs.cuh"

namespace kselect::search::metric_space {

// The objects that a group searches, and their numbers.
template <class M>
KSELECT_HD const typename M::view& objects_of(const typename cluster_walk<M>::args& walk) {
  return walk.members;
}
template <class M>
KSELECT_HD const typename M::view& objects_of(const pivot_args<M>& walk) {
  return walk.objects;
}
template <class Group>
KSELECT_HD std::int64_t number_of(const Group& g, std::int64_t i) {
  if constexpr (requires { g.job.walk.member_numbers; }) {
    return g.simt.load(g.job.walk.member_numbers, i);
  } else {
    return g.simt.load(g.job.walk.numbers, i);
  }
}

// Compares these objects with the queries of a group.
template <class Group, class F>
class member_search {
 public:
  using M = typename Group::metric;
  // f(q, distance, object number).
  KSELECT_HD member_search(const Group& g, typename Group::storage& shared, const F& f)
      : g_(g), shared_(shared), f_(f) {}

  // All lanes of a warp: the caller's object i, if it `has` one, with the queries of a mask.
  KSELECT_HD void compare(bool has, std::int64_t i, std::uint32_t mask) {
    if (!has) return;
    measure_all(g_, objects_of<M>(g_.job.walk), i, shared_.radius, mask,
                [&](int q, float d) { f_(q, d, number_of(g_, i)); });
  }
  KSELECT_HD void finish() {}

 private:
  const Group& g_;
  const typename Group::storage& shared_;
  const F& f_;
};
template <class Group, class F>
requires Group::by_pairs class member_search<Group, F> {
 public:
  using M = typename Group::metric;
  KSELECT_HD member_search(const Group& g, typename Group::storage& shared, const F& f)
      : g_(g),
        f_(f),
        pairs_(g.simt, shared.pairs.of_warp[g.simt.warp()], objects_of<M>(g.job.walk), {g},
               shared.radius) {}

  KSELECT_HD void compare(bool has, std::int64_t i, std::uint32_t mask) {
    pairs_.test(has, static_cast<std::uint32_t>(i), mask, found());
  }
  // Some of what compare() got may be compared only here.
  KSELECT_HD void finish() { pairs_.finish(found()); }

 private:
  struct staged_queries {
    const Group& g;
    KSELECT_HD void* operator()(int q) const { return g.staged(q); }
  };
  KSELECT_HD auto found() const {
    return [this](int q, float d, std::uint32_t i) { f_(q, d, number_of(g_, i)); };
  }

  const Group& g_;
  const F& f_;
  pair_list<M, typename Group::executor, group_threads / simt::warp_size, staged_queries> pairs_;
};

}  // namespace kselect::search::metric_space
