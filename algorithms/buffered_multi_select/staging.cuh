#pragma once
// Buffered multi-select: elements that are to be written side by side, and so stand side by side in
// shared memory first. With each is a word, which is its key or the bits of its value, and where in
// the row it stands. A block stages pairs, which it stores one by one; a warp two arrays, which it
// stores four by four (answer::copy_staged).

#include "algorithms/buffered_multi_select/team.cuh"

namespace kselect::bms {

template <class Team>
class staging {
 public:
  using key = typename Team::key;
  using candidate = typename Team::candidate;

  KSELECT_HD explicit staging(Team& team) : team_(team) {}

  KSELECT_HD void put(position to, key word, position place) const {
    key* const at = word_at(to);
    at[0] = word;
    if constexpr (Team::indexed) place_of(at, team_.shape.capacity) = place;
  }

  // As a candidate whose key is the word.
  KSELECT_HD candidate at(position i) const {
    if constexpr (Team::indexed && Team::one_warp) {
      key* const at = word_at(i);
      return Team::candidates::make(at[0],
                                    static_cast<position>(place_of(at, team_.shape.capacity)));
    } else {
      return team_.memory.list[i];
    }
  }

  // Puts one after the other, from a place on and `step` places apart. All lanes of the warp make
  // one together.
  class cursor {
   public:
    KSELECT_HD cursor(const staging& to, position first, position step = 1)
        : next_(to.word_at(first)), step_(step * stride), capacity_(to.capacity_of_lanes()) {}
    KSELECT_HD void put(key word, position place) {
      next_[0] = word;
      if constexpr (Team::indexed) place_of(next_, capacity_) = static_cast<key>(place);
      next_ += step_;
    }

   private:
    key* next_;
    position step_;
    position capacity_;
  };

 private:
  static constexpr position stride = Team::indexed && !Team::one_warp ? 2 : 1;

  KSELECT_HD key* word_at(position to) const {
    return team_.memory.keys() + to * stride + (stride - 1);
  }
  KSELECT_HD static key& place_of(key* word, position capacity) {
    return Team::one_warp ? word[capacity] : word[-1];
  }
  // In a register, by a shuffle, or the compiler loads it for each element.
  KSELECT_HD position capacity_of_lanes() const {
    return Team::one_warp ? team_.simt.shfl(simt::full_mask, team_.shape.capacity, 0) : 0;
  }

  Team& team_;
};

}  // namespace kselect::bms
