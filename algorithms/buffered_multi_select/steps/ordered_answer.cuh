#pragma once
// Buffered multi-select: one warp puts the elements of an answer in order, best first, equal keys
// by ascending index, and writes them. Each is compared with all.

#include "algorithms/buffered_multi_select/steps/answer_places.cuh"

namespace kselect::bms {

inline constexpr position most_ordered_by_warp = 2 * simt::warp_size;

// The answer's `count` elements, at most most_ordered_by_warp, lie where answer_list() says. After
// a sync.
template <class Team>
class ordered_answer {
 public:
  using candidate = typename Team::candidate;
  static_assert(Team::one_warp && Team::indexed);  // no two elements are equal

  KSELECT_HD ordered_answer(Team& team, position count)
      : team_(team), answer_(answer_list(team)), count_(count) {}

  KSELECT_HD void write(answer_places<Team>& places) {
    if (count_ <= simt::warp_size) {
      compare_with_all<1>(places);
    } else {
      compare_with_all<2>(places);
    }
  }

 private:
  // `each`: elements of a lane.
  template <int each>
  KSELECT_HD void compare_with_all(answer_places<Team>& places) {
    candidate own[each];
    position to[each] = {};
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) own[e] = answer_[at(e) < count_ ? at(e) : 0];
    for (position i = 0; i < count_; ++i) {
      const candidate other = answer_[i];
      KSELECT_UNROLL
      for (int e = 0; e < each; ++e) to[e] += other < own[e] ? 1U : 0U;
    }
    places.with_outputs([&](const auto& row) {
      KSELECT_UNROLL
      for (int e = 0; e < each; ++e) {
        if (at(e) < count_) places.store(row, to[e], own[e]);
      }
    });
  }
  KSELECT_HD position at(int e) const {
    return static_cast<position>(e) * simt::warp_size + team_.lane();
  }

  Team& team_;
  const candidate* answer_;
  position count_;
};

}  // namespace kselect::bms
