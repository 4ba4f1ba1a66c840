#pragma once
// Steps on runs of slots sorted in descending order: insertion into one, and the merge of two by
// Tang et al.'s reverse bitonic network (Fig. 2).
//
// A lane has few warps beside it to hide latency behind (Q = 2^13 queries are two warps a
// multiprocessor on 132), so what it does to slots begins with several loads: four of an insertion,
// and eight of a network, which then makes three of its steps in registers before it stores them.
// That changes where the elements are meanwhile, not what is compared with what, so the paper's
// updates are still counted one by one.

#include "kselect/hd.hpp"

namespace kselect::queues {

inline constexpr int slots_in_flight = 4;

// Slots [0, size) are sorted: drops slot 0, the largest, and puts `e`, which is smaller, in its
// place.
template <class Slots>
KSELECT_HD void replace_largest(Slots& slots, int size, typename Slots::entry e) {
  using entry = typename Slots::entry;
  for (int first = 1;; first += slots_in_flight) {
    entry next[slots_in_flight];
    // Past the end: nothing is smaller than 0, so the search stops there.
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

// Eight slots of a lane in registers, and steps of a bitonic network on them, in which the larger
// element goes to the lower slot. Slots that are not there hold what is smaller than everything and
// so are never moved: a queue of any k is a full network's first k slots.
template <class Slots>
class slot_block {
 public:
  using entry = typename Slots::entry;
  static constexpr int size = 8;

  // `place(u)`: of register u, ascending; from `end` on there are no slots.
  template <class Place>
  KSELECT_HD slot_block(Slots& slots, int end, const Place& place) {
    KSELECT_UNROLL
    for (int u = 0; u < size; ++u) {
      const bool real = place(u) < end;
      const entry e = slots[real ? place(u) : 0];  // loaded in any case: eight branches fewer
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

  // Compares u with u ^ mask: a distance, or all bits of a run's length, which is its mirror image.
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

// Sorts the slots from `first` on that are below `end`, at most a block.
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

// Slots [first, first + half) and the `half` behind them are sorted; afterwards all of them that
// are below `end` are one run. `half` is a power of two. The first step of the usual network
// compares i with i + half, which wants the second run ascending; this one compares i with its
// mirror image.
template <class Slots>
KSELECT_HD void reverse_bitonic_merge(Slots& slots, int end, int first, int half) {
  using block = slot_block<Slots>;
  const int last = first + 2 * half - 1;
  if (2 * half < block::size) {  // what sorts both runs finds them sorted, and merges them
    return sort_block(slots, end <= last ? end : last + 1, first);
  }
  // The mirror images and the distances half / 2 and half / 4. Where all images are beyond the end,
  // what is left is a part of the first run.
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
  // All shorter distances, three at a time. The last three may begin with some that have been,
  // which find nothing to do any more.
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
