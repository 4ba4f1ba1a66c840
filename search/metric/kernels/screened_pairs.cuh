#pragma once
// For metrics with a test that spares most comparisons (`screens`). If a lane compared what its own
// object's tests left over, most lanes would wait for the few that have something. So a warp lists
// the pairs of an object and a query that may be near, and compares them when each lane has one.

#include "kernels/warp_sums.cuh"
#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

template <class M>
concept screening = requires {
  requires M::screens;
};

// The pairs of a group's warps. A group has a query for each warp. Room for those of a part, and
// those that were too few to be compared before.
template <int warps>
struct warp_pairs {
  static constexpr int room = (warps + 1) * simt::warp_size;
  std::uint32_t objects[room];
  std::uint8_t queries[room];
};
template <bool has_pairs, int warps>
struct pair_memory {};
template <int warps>
struct pair_memory<true, warps> {
  warp_pairs<warps> of_warp[warps];
};

// The list of one warp; all lanes call its functions. `staged(q)` is query q of the group, one of
// `most`.
template <class M, class Simt, int most, class Staged>
class pair_list {
 public:
  using view = typename M::view;

  KSELECT_HD pair_list(Simt& simt, warp_pairs<most>& memory, const view& objects,
                       const Staged& staged, const float* radii)
      : simt_(simt), pairs_(memory), objects_(objects), staged_(staged), radii_(radii) {}

  // Tests the caller's object, if it `has` one, with each query of a mask. Calls f(q, distance,
  // object) for pairs within the queries' radii, in any lane and maybe later.
  template <class F>
  KSELECT_HD void test(bool has, std::uint32_t object, std::uint32_t mask, const F& f) {
    const auto own = has ? M::outline_of(simt_, objects_, object) : typename M::outline{};
    std::uint32_t near = 0;  // queries that may be near the object
    KSELECT_UNROLL
    for (int q = 0; q < most; ++q) {
      if ((mask >> q & 1) == 0) continue;
      const auto other = M::outline_of_staged(staged_(q));
      if (!M::certainly_beyond(simt_, own, other, radii_[q])) near |= 1U << q;
    }
    if (!has) near = 0;
    if (has) simt_.count(simt::counter::pruned, Simt::popc(mask) - Simt::popc(near));
    list(object, near);
    while (listed_ >= simt::warp_size) compare_last(simt::warp_size, f);
  }

  // Compares what is still listed.
  template <class F>
  KSELECT_HD void finish(const F& f) {
    if (listed_ != 0) compare_last(listed_, f);
  }

 private:
  KSELECT_HD void list(std::uint32_t object, std::uint32_t near) {
    const int own = static_cast<int>(Simt::popc(near));
    const int up_to_own = kernels::sum_up_to_lane(simt_, own);
    int place = listed_ + up_to_own - own;
    KSELECT_UNROLL
    for (int q = 0; q < most; ++q) {
      if ((near >> q & 1) == 0) continue;
      pairs_.objects[place] = object;
      pairs_.queries[place++] = static_cast<std::uint8_t>(q);
    }
    listed_ += simt_.shfl(simt::full_mask, up_to_own, simt::warp_size - 1);
  }

  template <class F>
  KSELECT_HD void compare_last(int count, const F& f) {
    simt_.sync_warp(simt::full_mask);
    listed_ -= count;
    if (simt_.lane() < count) {
      const int q = pairs_.queries[listed_ + simt_.lane()];
      const std::uint32_t object = pairs_.objects[listed_ + simt_.lane()];
      void* const staged[1] = {staged_(q)};
      const float radius[1] = {radii_[q]};
      simt_.count(simt::counter::distances);
      M::distances_within(simt_, objects_, object, staged, radius,
                          [&](int, float d) { f(q, d, object); });
    }
    simt_.sync_warp(simt::full_mask);  // these places are written next
  }

  Simt& simt_;
  warp_pairs<most>& pairs_;
  const view& objects_;
  Staged staged_;
  const float* radii_;
  int listed_ = 0;
};

}  // namespace kselect::search::metric_space
