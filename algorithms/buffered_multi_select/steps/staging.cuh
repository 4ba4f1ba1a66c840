#pragma once
// Buffered multi-select: staging of selected elements in shared memory, for coalesced stores to the
// answer. An element is staged as a word (its key, or the bits of its value) and its place in the
// row. A block stages (word, place) pairs with one store each. A warp stages two arrays and copies
// them four elements at a time (answer::copy_staged).
//
// A warp stages the oriented bits of a value, as it holds them in registers. A block stages the
// original bits of the row. Reason: an 8-byte store of a pair needs two adjacent registers. If the
// word were a loaded register, ptxas would pin it to a pair from its load on and spill. Flipping
// the sign creates a fresh register instead.

#include "algorithms/buffered_multi_select/steps/team.cuh"

namespace kselect::bms {

template <class Team>
class staging {
 public:
  using key = typename Team::key;
  using value = typename Team::value;
  using candidate = typename Team::candidate;
  static constexpr bool pairs = Team::indexed && !Team::one_warp;

  using orientation = typename element<typename Team::stored>::orientation;

  // `by`: the orientation of the row.
  KSELECT_HD staging(Team& team, orientation by) : team_(team), orientation_(by) {}

  // The word of an oriented value; a word's oriented value; a word's value as the row has it.
  KSELECT_HD key word_of(value x) const {
    return pairs ? orientation_.restored(bits_of(x)) : bits_of(x);
  }
  KSELECT_HD value oriented(key word) const {
    return std::bit_cast<value>(pairs ? orientation_.oriented(word) : word);
  }
  KSELECT_HD value in_row(key word) const {
    return std::bit_cast<value>(pairs ? word : orientation_.restored(word));
  }

  KSELECT_HD void put(position to, key word, position place) const {
    key* const at = word_at(to);
    at[0] = word;
    if constexpr (Team::indexed) place_of(at, team_.shape.capacity) = place;
  }

  // The candidate at place i, with the staged word as its key.
  KSELECT_HD candidate at(position i) const {
    if constexpr (Team::indexed && Team::one_warp) {
      key* const at = word_at(i);
      return Team::candidates::make(at[0],
                                    static_cast<position>(place_of(at, team_.shape.capacity)));
    } else {
      return team_.memory.list[i];
    }
  }

  // Stages one element after the other, `step` places apart. All lanes of a warp construct theirs
  // together.
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
  // A shuffle keeps it in a register; otherwise the compiler loads it for each element.
  KSELECT_HD position capacity_of_lanes() const {
    return Team::one_warp ? team_.simt.shfl(simt::full_mask, team_.shape.capacity, 0) : 0;
  }

  Team& team_;
  orientation orientation_;
};

}  // namespace kselect::bms
