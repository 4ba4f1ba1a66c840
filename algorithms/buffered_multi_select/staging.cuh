#pragma once
// Buffered multi-select: elements that are to be written side by side, and so stand side by side in
// shared memory first. With each is a word, which is its key or stands for its value, and where in
// the row it stands. A block stages pairs, by one store each; a warp two arrays, which it copies
// four by four (answer::copy_staged).
//
// What stands for a value are its bits: a warp's as they are in registers, a block's as the row has
// them. For a pair is made of two neighbouring registers, and a value that is computed for it may
// be one of them, while a value of the row's would be kept in its half of a pair from its load on.

#include "algorithms/buffered_multi_select/team.cuh"

namespace kselect::bms {

template <class Team>
class staging {
 public:
  using key = typename Team::key;
  using value = typename Team::value;
  using candidate = typename Team::candidate;
  static constexpr bool pairs = Team::indexed && !Team::one_warp;

  // `flip`: the orientation of the row.
  KSELECT_HD staging(Team& team, key flip) : team_(team), flip_(flip) {}

  // For an oriented value, and back; and the value as the row has it.
  KSELECT_HD key word_of(value x) const { return bits_of(x) ^ (pairs ? flip_ : 0); }
  KSELECT_HD value oriented(key word) const {
    return std::bit_cast<value>(word ^ (pairs ? flip_ : 0));
  }
  KSELECT_HD value in_row(key word) const {
    return std::bit_cast<value>(word ^ (pairs ? 0 : flip_));
  }

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
        : next_(reinterpret_cast<unit*>(to.team_.memory.list) + first),
          step_(step),
          capacity_(to.capacity_of_lanes()) {}
    KSELECT_HD void put(key word, position place) {
      if constexpr (pairs) {
        *next_ = Team::candidates::make(word, place);
      } else {
        *next_ = word;
        if constexpr (Team::indexed) next_[capacity_] = static_cast<key>(place);
      }
      next_ += step_;
    }

   private:
    using unit = std::conditional_t<pairs, candidate, key>;
    unit* next_;
    position step_;
    position capacity_;
  };

 private:
  static constexpr position stride = pairs ? 2 : 1;

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
  key flip_;
};

}  // namespace kselect::bms
