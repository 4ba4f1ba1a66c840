#pragma once
// For metrics with a test that spares most comparisons (`screens`, as levenshtein has). If a lane
// compared what its own object's tests left over, most lanes would wait for the few that have
// something. So a warp lists the pairs of an object and a query that may be near, and compares them
// when each lane has one.

#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

template <class M>
concept screening = requires {
  requires M::screens;
};

// The pairs of a group's warps: the query in the upper half, the object in the lower.
template <class M, int warps>
struct pair_memory {};
template <screening M, int warps>
struct pair_memory<M, warps> {
  std::uint64_t of_warp[warps][2 * simt::warp_size];
};

// The list of one warp; all lanes call its functions. `staged(q)` is query q of the group.
template <class M, class Simt, class Staged>
class pair_list {
 public:
  using view = typename M::view;

  KSELECT_HD pair_list(Simt& simt, std::uint64_t* memory, const view& objects, const Staged& staged,
                       const float* radii)
      : simt_(simt), pairs_(memory), objects_(objects), staged_(staged), radii_(radii) {}

  // Tests the caller's object, if it `has` one, with each query of a mask, which is the same in all
  // lanes. Calls f(q, distance, object) for pairs within the queries' radii, in any lane and maybe
  // later.
  template <class F>
  KSELECT_HD void test(bool has, std::uint32_t object, std::uint32_t mask, const F& f) {
    const auto own = has ? M::outline_of(simt_, objects_, object) : typename M::outline{};
    for (; mask != 0; mask &= mask - 1) {
      const int q = Simt::ffs(mask) - 1;
      const bool near = has && !M::certainly_beyond(simt_, own, staged_(q), radii_[q]);
      if (has && !near) simt_.count(simt::counter::pruned);
      const std::uint32_t lanes = simt_.ballot(simt::full_mask, near);
      if (near) {
        const int place = listed_ + Simt::popc(lanes & simt_.lanemask_lt());
        pairs_[place] = std::uint64_t{static_cast<std::uint32_t>(q)} << 32 | object;
      }
      listed_ += Simt::popc(lanes);
      if (listed_ >= simt::warp_size) compare_last(simt::warp_size, f);
    }
  }

  // Compares what is still listed.
  template <class F>
  KSELECT_HD void finish(const F& f) {
    if (listed_ != 0) compare_last(listed_, f);
  }

 private:
  template <class F>
  KSELECT_HD void compare_last(int count, const F& f) {
    simt_.sync_warp(simt::full_mask);
    listed_ -= count;
    if (simt_.lane() < count) {
      const std::uint64_t pair = pairs_[listed_ + simt_.lane()];
      const int q = static_cast<int>(pair >> 32);
      const auto object = static_cast<std::uint32_t>(pair);
      void* const staged[1] = {staged_(q)};
      const float radius[1] = {radii_[q]};
      simt_.count(simt::counter::distances);
      M::distances_within(simt_, objects_, object, staged, radius,
                          [&](int, float d) { f(q, d, object); });
    }
    simt_.sync_warp(simt::full_mask);  // these places are written next
  }

  Simt& simt_;
  std::uint64_t* pairs_;
  const view& objects_;
  Staged staged_;
  const float* radii_;
  int listed_ = 0;
};

}  // namespace kselect::search::metric_space
