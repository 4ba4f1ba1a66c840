#pragma once
// Quick multi-select: where a round puts the elements of a tile. A warp votes which of its elements
// are below the pivot; the votes of the lanes before and the counts of the warps before give each
// element's place (Komarov et al. 2014, Methods).

#include "algorithms/quick_multi_select/team.cuh"

namespace kselect::qms {

template <class Team>
class tile_places {
 protected:
  KSELECT_HD explicit tile_places(Team& team) : team_(team) {}

  // The inter-warp prefix sum of the block form. Sets `before` to the number of left elements in
  // the warps before, and returns that of the whole tile. Every thread adds the warps' counts
  // itself. Two sets of counts are used in turn, so that one barrier is enough: only the call after
  // next writes to the set that this one reads.
  KSELECT_HD position place_warps(position lefts, position& before) {
    before = 0;
    if constexpr (Team::one_warp) {
      return lefts;
    } else {
      position* const counts = team_.shared.lefts[turn_];
      turn_ ^= 1;
      if (team_.simt.lane() == 0) counts[team_.warp()] = lefts;
      team_.sync();
      position sum = 0;
      for (int w = 0; w < team_.warps(); ++w) {
        if (w == team_.warp()) before = sum;
        sum += counts[w];
      }
      return sum;
    }
  }

  KSELECT_HD position finish_round(reference from, position left_end) {
    if (team_.thread() == 0) {
      team_.simt.count(simt::counter::partitions);
      team_.simt.count(simt::counter::comparisons, from.size());
    }
    team_.sync();  // what was written is read by other threads in the next round
    return left_end - from.begin;
  }

  KSELECT_HD position count_of(std::uint32_t votes) const {
    return static_cast<position>(team_.simt.popc(votes));
  }

  Team& team_;

 private:
  int turn_ = 0;  // of place_warps
};

}  // namespace kselect::qms
