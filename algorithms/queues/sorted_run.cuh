#pragma once
// Operations on runs of slots in descending order: insertion into a run, and the merge of two runs
// by Tang et al.'s reverse bitonic network (Fig. 2).
//
// Few warps hide a lane's latencies (Q = 2^13 queries are two warps on each of 132
// multiprocessors). So several loads begin together: four for an insertion, eight for a network,
// which then takes three steps in registers before it stores. The comparisons and the counted
// updates are the paper's.

#include "kselect/hd.hpp"

namespace kselect::queues {

inline constexpr int slots_in_flight = 4;

// In sorted slots [0, size): drops slot 0, the largest, and inserts `e`, which is smaller.
template <class Slots>
KSELECT_HD void replace_largest(Slots& slots, int size, typename Slots::entry e) {
  using entry = typename Slots::entry;
  for (int first = 1;; first += slots_in_flight) {
    entry next[slots_in_flight];
    // Missing slots are 0, and nothing is smaller: the search stops there.
    KSELECT_UNROLL
    for (int u = 0; u < slots_in_flight; ++u) {
      next[u] = first + u < size ? slots[first + u] : entry{0};
    }
    KSELECT_UNROLL
    for (int u = 0; u < slots_in_flight; ++u) {
      if (!(e < next[u])) {
        slots.put(first + u - 1, e);
        return;
      }
      slots.put(first + u - 1, next[u]);
    }
  }
}

// Eight slots of a lane in registers, and bitonic steps that move the larger element to the lower
// slot. Missing slots hold 0 and so are never moved: a queue of any k is the first k slots of a
// full network.
template <class Slots>
class slot_block {
 public:
  using entry = typename Slots::entry;
  static constexpr int size = 8;

  // `place(u)`: the slot of register u, ascending; `end` and above are missing.
  template <class Place>
  KSELECT_HD slot_block(Slots& slots, int end, const Place& place) {
    KSELECT_UNROLL
    for (int u = 0; u < size; ++u) {
      const bool real = place(u) < end;
      const entry e = slots[real ? place(u) : 0];  // an unconditional load saves a branch
      held_[u] = real ? e : entry{0};
    }
  }
  template <class Place>
  KSELECT_HD void store(Slots& slots, int end, const Place& place) const {
    KSELECT_UNROLL
    for (int u = 0; u < size; ++u) {
      if (place(u) < end) slots.set(place(u), held_[u]);
    }
  }

  // Compares u with u ^ mask. The mask is a distance, or all bits of a run's length: the mirror
  // image.
  template <int mask, class Place>
  KSELECT_HD void step(Slots& slots, const Place& place) {
    KSELECT_UNROLL
    for (int u = 0; u < size; ++u) {
      const int other = u ^ mask;
      if (u > other) continue;
      const entry low = held_[u], up = held_[other];
      const bool exchanged = low < up;
      held_[u] = exchanged ? up : low;
      held_[other] = exchanged ? low : up;
      if (exchanged) {
        slots.count_update(place(u));
        slots.count_update(place(other));
      }
    }
  }

 private:
  entry held_[size];
};

// Sorts the slots [first, end), at most a block.
template <class Slots>
KSELECT_HD void sort_block(Slots& slots, int end, int first) {
  const auto place = [&](int u) { return first + u; };
  slot_block<Slots> held(slots, end, place);
  held.template step<1>(slots, place);
  held.template step<3>(slots, place);
  held.template step<1>(slots, place);
  held.template step<7>(slots, place);
  held.template step<2>(slots, place);
  held.template step<1>(slots, place);
  held.store(slots, end, place);
}

// Merges the sorted slots [first, first + half) and the `half` behind them, as far as they are
// below `end`, into one run. `half` is a power of two. A usual network compares i with i + half and
// needs an ascending second run; this one compares i with its mirror image.
template <class Slots>
KSELECT_HD void reverse_bitonic_merge(Slots& slots, int end, int first, int half) {
  using block = slot_block<Slots>;
  const int last = first + 2 * half - 1;
  if (2 * half < block::size) {  // sorting also merges
    return sort_block(slots, end <= last ? end : last + 1, first);
  }
  // The mirror images, and the distances half / 2 and half / 4. Once all images are beyond the end,
  // only a part of the first run is left.
  const int stride = 2 * half / block::size;
  for (int i = stride - 1; i >= 0 && last - i - half + stride < end; --i) {
    const auto place = [&](int u) {
      return u < block::size / 2 ? first + i + u * stride
                                 : last - i - (block::size - 1 - u) * stride;
    };
    block held(slots, end, place);
    held.template step<7>(slots, place);
    held.template step<2>(slots, place);
    held.template step<1>(slots, place);
    held.store(slots, end, place);
  }
  // The shorter distances, three at a time. The last three may repeat some, which changes nothing.
  for (int longest = stride / 2; longest > 0;) {
    const int least = longest < block::size ? 1 : 2 * longest / block::size;
    for (int i = 0; i < stride; ++i) {
      const int begin = first + (i - i % least) * block::size + i % least;
      if (begin >= end) break;
      const auto place = [&](int u) { return begin + u * least; };
      block held(slots, end, place);
      held.template step<4>(slots, place);
      held.template step<2>(slots, place);
      held.template step<1>(slots, place);
      held.store(slots, end, place);
    }
    longest = least / 2;
  }
}

// Sorts `size` slots, a power of two, in descending order.
template <class Slots>
KSELECT_HD void bitonic_sort(Slots& slots, int size) {
  constexpr int block = slot_block<Slots>::size;
  for (int first = 0; first < size; first += block) sort_block(slots, size, first);
  for (int half = block; half < size; half *= 2) {
    for (int first = 0; first < size; first += 2 * half) {
      reverse_bitonic_merge(slots, size, first, half);
    }
  }
}

}  // namespace kselect::queues
