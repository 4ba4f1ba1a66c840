#pragma once
// Steps on runs of slots sorted in descending order: insertion into one, and the merge of two by
// Tang et al.'s reverse bitonic network (Fig. 2). `Slots` is anything with slots[j] and
// slots.put(j, e).
//
// A lane has few warps beside it to hide latency behind (Q = 2^13 queries are two warps a
// multiprocessor on 132), so both steps load four slots before they look at the first.

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

// One step of a network: of `pairs` pairs (lower(i), upper(i)), lower < upper, the larger element
// goes to the lower slot. Slots from `size` on are imagined: they hold what is smaller than
// everything, which no exchange would move, so a queue of any k is a full network's first k slots.
template <class Slots, class Lower, class Upper>
KSELECT_HD void exchange(Slots& slots, int size, int pairs, Lower lower, Upper upper) {
  using entry = typename Slots::entry;
  for (int first = 0; first < pairs; first += slots_in_flight) {
    entry low[slots_in_flight], up[slots_in_flight];
    KSELECT_UNROLL
    for (int u = 0; u < slots_in_flight; ++u) {
      const int i = first + u;
      const bool real = i < pairs && upper(i) < size;
      low[u] = real ? slots[lower(i)] : entry{0};
      up[u] = real ? slots[upper(i)] : entry{0};
    }
    KSELECT_UNROLL
    for (int u = 0; u < slots_in_flight; ++u) {
      if (low[u] < up[u]) {
        slots.put(lower(first + u), up[u]);
        slots.put(upper(first + u), low[u]);
      }
    }
  }
}

// Slots [first, first + half) and the `half` behind them are sorted; afterwards all of them are one
// run. `half` is a power of two. The first step of the usual network compares i with i + half,
// which wants the second run ascending; this one compares i with its mirror image.
template <class Slots>
KSELECT_HD void reverse_bitonic_merge(Slots& slots, int size, int first, int half) {
  exchange(
      slots, size, half, [&](int i) { return first + i; },
      [&](int i) { return first + 2 * half - 1 - i; });
  for (int step = half / 2; step > 0; step /= 2) {
    // i counts the slots whose bit `step` is 0.
    const auto lower = [&](int i) { return first + 2 * i - (i & (step - 1)); };
    exchange(slots, size, half, lower, [&](int i) { return lower(i) + step; });
  }
}

// Sorts `size` slots, a power of two, in descending order.
template <class Slots>
KSELECT_HD void bitonic_sort(Slots& slots, int size) {
  for (int half = 1; half < size; half *= 2) {
    for (int first = 0; first < size; first += 2 * half) {
      reverse_bitonic_merge(slots, size, first, half);
    }
  }
}

}  // namespace kselect::queues
