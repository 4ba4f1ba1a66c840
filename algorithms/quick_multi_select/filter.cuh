#pragma once
// Quick multi-select: a round, in which we deviate from the paper. If few elements are wanted, a
// filter takes the place of the partition (partition.cuh).

#include "algorithms/quick_multi_select/partition.cuh"

namespace kselect::qms {

template <class Team>
class rounds : partitions<Team> {
 public:
  using typename partitions<Team>::key;
  using typename partitions<Team>::element;

  KSELECT_HD explicit rounds(Team& team) : partitions<Team>(team) {}

  // One round. If few elements are wanted, a sampled pivot almost surely has all of them on its
  // left. Then the right side, which would be dropped, is not written. If the pivot fails, the
  // round is repeated as in the paper. Returns the number of elements below the pivot.
  KSELECT_HD position round(const state<key>& s, key pivot, pivot_rule rule) {
    if (rule == pivot_rule::sample && few_wanted(s)) {
      const position left = filter(s.active, pivot);
      if (left >= s.wanted) return left;
    }
    return this->partition(s.active, pivot);
  }

 private:
  using tile_places<Team>::count_of;
  using tile_places<Team>::finish_round;
  using tile_places<Team>::place_warps;
  using tile_places<Team>::team_;

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
    read_tile<N>(own, from, first, count);
    position lefts = 0;  // of this warp
    KSELECT_UNROLL
    for (int v = 0; v < own_items; ++v) {
      const bool there = N != 1 || place<N>(v) < part_size;
      below[v] = team_.simt.ballot(simt::full_mask, there && own[v].k < pivot);
      lefts += count_of(below[v]);
    }
    position before = 0;  // in the warps before
    const position tile_left = place_warps(lefts, before);
    const auto to = team_.row.auxiliary(other(from));
    const auto lane = static_cast<position>(team_.simt.lane());
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

  // Reads the lane's elements of a tile; one that the tile does not have is element{}.
  template <int N, int own_items>
  KSELECT_HD void read_tile(element (&own)[own_items], array from, position first, position count) {
    const auto part = static_cast<position>(team_.warp() * simt::warp_size * own_items);
    const position part_size = count <= part ? 0 : count - part;
    if constexpr (N == 1) {
      KSELECT_UNROLL
      for (int v = 0; v < own_items; ++v) {
        own[v] = element{};
        if (place<N>(v) < part_size) own[v] = team_.read(from, first + part + place<N>(v));
      }
    } else {
      const auto vectors = simt::as_vec<N>(team_.simt.slice(team_.row.input, first, count));
      KSELECT_UNROLL
      for (int v = 0; v < own_items; v += N) {
        const auto loaded = team_.simt.load(vectors, (part + place<N>(v)) / N);
        KSELECT_UNROLL
        for (int e = 0; e < N; ++e) {
          own[v + e] = element::of(selection_key(loaded[e], team_.row.wanted),
                                   first + part + place<N>(v + e));
        }
      }
    }
  }

  // The v-th element of a lane is number place(v) of the warp's part of the tile.
  template <int N>
  KSELECT_HD position place(int v) const {
    return static_cast<position>(v / N * simt::warp_size * N + v % N) +
           static_cast<position>(team_.simt.lane()) * N;
  }

  static constexpr int vector_elements = 16 / sizeof(typename Team::value);

  KSELECT_HD position elements_before_vector(reference from) const {
    const auto address = reinterpret_cast<std::uintptr_t>(team_.row.input.data + from.begin);
    const auto past =
        static_cast<position>(address / sizeof(typename Team::value) % vector_elements);
    const position head = past == 0 ? 0 : vector_elements - past;
    return head < from.size() ? head : from.size();
  }
};

}  // namespace kselect::qms
