#pragma once
// Quick multi-select: a partition, as the paper draws it (Komarov et al. 2014, Methods, Fig. 2-4).

#include "algorithms/quick_multi_select/tile_places.cuh"

namespace kselect::qms {

template <class Team>
class partitions : protected tile_places<Team> {
 public:
  using key = typename Team::key;
  using element = typename Team::element;

  KSELECT_HD explicit partitions(Team& team) : tile_places<Team>(team) {}

  // Read in, pivot and write out (Fig. 2, 3, 4), tile after tile. Elements below the pivot go to
  // the left end of the other array's [begin, end), the others to its right end. Each element is
  // read once. Returns the number of elements below the pivot.
  KSELECT_HD position partition(reference from, key pivot) {
    const array to = other(from.where);
    const position tile = static_cast<position>(team_.threads() * Team::items);
    position left = from.begin;  // next free place on the left
    position right = from.end;   // one past the next free place on the right
    for (position first = from.begin; first < from.end;) {
      const position count = from.end - first < tile ? from.end - first : tile;
      const position tile_left = pivot_into_stage(from.where, first, count, pivot);
      write_out(to, left, right, count, tile_left);
      left += tile_left;
      right -= count - tile_left;
      first += count;
    }
    return finish_round(from, left);
  }

 protected:
  using tile_places<Team>::count_of;
  using tile_places<Team>::finish_round;
  using tile_places<Team>::place_warps;
  using tile_places<Team>::team_;

 private:
  // Fig. 2 and 3. Each warp reads its 32-wide segments and votes which elements are below the
  // pivot. The votes of the lanes before give each element's place. Shared memory gathers both
  // sides: left from the left end, right from the right end. Returns the number of left elements.
  KSELECT_HD position pivot_into_stage(array from, position first, position count, key pivot) {
    element own[items];  // not Team::items: gcc 12 crashes on arrays of one element
    std::uint32_t below[items];
    // The v-th element of a lane is number lane + 32 v of the warp's part of the tile.
    const auto part = static_cast<position>(team_.warp() * simt::warp_size * Team::items);
    const position part_size = count <= part ? 0 : count - part;
    const auto lane = static_cast<position>(team_.simt.lane());
    KSELECT_UNROLL
    for (int v = 0; v < Team::items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      own[v] = element{};
      if (i < part_size) own[v] = team_.read(from, first + part + i);
    }
    position lefts = 0;  // of this warp
    KSELECT_UNROLL
    for (int v = 0; v < Team::items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      below[v] = team_.simt.ballot(simt::full_mask, i < part_size && own[v].k < pivot);
      lefts += count_of(below[v]);
    }
    position left = 0;  // place of the warp's next left element
    const position tile_left = place_warps(lefts, left);
    // The warps before have full parts, so their right elements are all that are not left.
    position right = count - 1 - (part - left);  // place of the warp's next right element
    element* const stage = team_.stage();
    KSELECT_UNROLL
    for (int v = 0; v < Team::items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      const position before = count_of(below[v] & team_.simt.lanemask_lt());
      if ((below[v] >> lane & 1U) != 0) {
        stage[left + before] = own[v];
      } else if (i < part_size) {
        stage[right - (lane - before)] = own[v];
      }
      const position here = count_of(below[v]);
      left += here;
      right -= simt::warp_size - here;  // a partial segment is the warp's last
    }
    team_.sync();
    return tile_left;
  }

  // Fig. 4: copies a tile's `count` elements from shared memory to the other array, each side in
  // one coalesced run.
  KSELECT_HD void write_out(array to, position left, position right, position count,
                            position tile_left) {
    for (auto i = static_cast<position>(team_.thread()); i < count;
         i += static_cast<position>(team_.threads())) {
      const position place = i < tile_left ? left + i : right - (count - i);
      team_.simt.store(team_.row.auxiliary(to), place, team_.stage()[i]);
    }
    team_.sync();  // the stage is free for the next tile
  }
};

}  // namespace kselect::qms
