#pragma once
// Quick multi-select: one round (Komarov et al. 2014, Methods, Fig. 2-4).

#include "algorithms/quick_multi_select/team.cuh"

namespace kselect::qms {

template <class Team>
class partitions {
 public:
  using key = typename Team::key;
  using element = typename Team::element;

  KSELECT_HD explicit partitions(Team& team) : team_(team) {}

  // One round. If few elements are wanted, a sampled pivot almost surely has all of them on its
  // left. Then the right side, which would be dropped, is not written. If the pivot fails, the
  // round is repeated as in the paper. Returns the number of elements below the pivot.
  KSELECT_HD position round(const state<key>& s, key pivot, pivot_rule rule) {
    if (rule == pivot_rule::sample && few_wanted(s)) {
      const position left = filter(s.active, pivot);
      if (left >= s.wanted) return left;
    }
    return partition(s.active, pivot);
  }

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

  // partition() for the left side alone, which is small in this form: its elements go straight to
  // their places, and nothing is staged. The input is read 16 bytes at a time.
  KSELECT_HD position filter(reference from, key pivot) {
    position left = from.begin;
    position first = from.begin;
    if (from.where == array::input) {
      // The elements before the first aligned address.
      const position head = elements_before_vector(from);
      if (head != 0) filter_tile<1>(from.where, first, head, pivot, left);
      first += head;
      const auto tile = static_cast<position>(team_.threads() * filter_items<typename Team::value>);
      for (; from.end - first >= tile; first += tile) {
        filter_tile<vector_elements>(from.where, first, tile, pivot, left);
      }
    }
    const auto tile = static_cast<position>(team_.threads() * items);
    while (first < from.end) {
      const position count = from.end - first < tile ? from.end - first : tile;
      filter_tile<1>(from.where, first, count, pivot, left);
      first += count;
    }
    return finish_round(from, left);
  }

  // filter() for one tile, in loads of N elements a lane (N > 1 only for full tiles of the input).
  // Writes the elements below the pivot from place `left` on and advances `left`.
  template <int N>
  KSELECT_HD void filter_tile(array from, position first, position count, key pivot,
                              position& left) {
    constexpr int own_items = N == 1 ? items : filter_items<typename Team::value>;
    element own[own_items];
    std::uint32_t below[own_items];
    const auto part = static_cast<position>(team_.warp() * simt::warp_size * own_items);
    const position part_size = count <= part ? 0 : count - part;
    const auto lane = static_cast<position>(team_.simt.lane());
    // The v-th element of a lane is number place(v) of the warp's part of the tile.
    const auto place = [&](int v) {
      return static_cast<position>(v / N * simt::warp_size * N + v % N) + lane * N;
    };
    if constexpr (N == 1) {
      KSELECT_UNROLL
      for (int v = 0; v < own_items; ++v) {
        own[v] = element{};
        if (place(v) < part_size) own[v] = team_.read(from, first + part + place(v));
      }
    } else {
      const auto vectors = simt::as_vec<N>(team_.simt.slice(team_.row.input, first, count));
      KSELECT_UNROLL
      for (int v = 0; v < own_items; v += N) {
        const auto loaded = team_.simt.load(vectors, (part + place(v)) / N);
        KSELECT_UNROLL
        for (int e = 0; e < N; ++e) {
          own[v + e] =
              element::of(selection_key(loaded[e], team_.row.wanted), first + part + place(v + e));
        }
      }
    }
    position lefts = 0;  // of this warp
    KSELECT_UNROLL
    for (int v = 0; v < own_items; ++v) {
      const bool there = N != 1 || place(v) < part_size;
      below[v] = team_.simt.ballot(simt::full_mask, there && own[v].k < pivot);
      lefts += count_of(below[v]);
    }
    position before = 0;  // in the warps before
    const position tile_left = place_warps(lefts, before);
    const auto to = team_.row.auxiliary(other(from));
    position next = left + before;
    KSELECT_UNROLL
    for (int v = 0; v < own_items; ++v) {
      if (below[v] == 0) continue;  // mostly, if few elements are wanted
      if ((below[v] >> lane & 1U) != 0) {
        team_.simt.store(to, next + count_of(below[v] & team_.simt.lanemask_lt()), own[v]);
      }
      next += count_of(below[v]);
    }
    left += tile_left;
  }

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

  static constexpr int vector_elements = 16 / sizeof(typename Team::value);

  KSELECT_HD position elements_before_vector(reference from) const {
    const auto address = reinterpret_cast<std::uintptr_t>(team_.row.input.data + from.begin);
    const auto past =
        static_cast<position>(address / sizeof(typename Team::value) % vector_elements);
    const position head = past == 0 ? 0 : vector_elements - past;
    return head < from.size() ? head : from.size();
  }

  KSELECT_HD position count_of(std::uint32_t votes) const {
    return static_cast<position>(team_.simt.popc(votes));
  }

  Team& team_;
  int turn_ = 0;  // of place_warps
};

}  // namespace kselect::qms
