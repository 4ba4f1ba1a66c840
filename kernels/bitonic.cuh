#pragma once
// Bitonic networks (Batcher 1968) on selection keys, with positions if they are wanted. One sorts a
// list in shared memory by all threads of a block, another a list in the registers of a warp.
//
// With positions, equal keys are ordered by position. Padding has the worst key and the worst
// position, so it comes after every element, even one with the worst key. Without positions,
// padding equals such an element, which is harmless.

#include <type_traits>
#include <utility>

#include "kernels/gpu_rows.cuh"

namespace kselect::kernels {

inline constexpr position no_position = 0xffffffffU;  // of padding

constexpr std::int64_t next_power_of_two(std::int64_t x) {
  std::int64_t power = 1;
  while (power < x) power *= 2;
  return power;
}

template <class Key, bool indexed>
struct item {
  Key key;
  position at;  // unused without positions
};

template <class Key, bool indexed>
KSELECT_HD constexpr item<Key, indexed> padding() {
  return {static_cast<Key>(~Key{0}), no_position};
}

template <class Key, bool indexed>
KSELECT_HD constexpr bool before(const item<Key, indexed>& a, const item<Key, indexed>& b) {
  if constexpr (!indexed) {
    return a.key < b.key;
  } else if constexpr (sizeof(Key) == 4) {
    return (std::uint64_t{a.key} << 32 | a.at) < (std::uint64_t{b.key} << 32 | b.at);
  } else {
    return a.key < b.key || (a.key == b.key && a.at < b.at);
  }
}

// ---- in shared memory

template <class Key, bool indexed>
struct shared_list {
  Key* keys;
  position* positions;  // null without positions

  static constexpr std::size_t item_bytes = sizeof(Key) + (indexed ? sizeof(position) : 0);

  // A list of `size` items at `start` in shared memory, which is aligned to the key.
  KSELECT_HD static shared_list at(void* start, position size) {
    auto* const keys = static_cast<Key*>(start);
    return {keys, indexed ? reinterpret_cast<position*>(keys + size) : nullptr};
  }

  KSELECT_HD item<Key, indexed> get(position i) const {
    item<Key, indexed> found{keys[i], 0};
    if constexpr (indexed) found.at = positions[i];
    return found;
  }
  KSELECT_HD void set(position i, const item<Key, indexed>& value) const {
    keys[i] = value.key;
    if constexpr (indexed) positions[i] = value.at;
  }
  // Puts items i and j in ascending or descending order.
  KSELECT_HD void order(position i, position j, bool ascending) const {
    const auto first = get(i);
    const auto second = get(j);
    if (before(second, first) == ascending) {
      set(i, second);
      set(j, first);
    }
  }
};

// A network on the places 0 ... size - 1. `place` maps them to places of the list.
template <class Simt, class List, class Place>
class shared_network {
 public:
  KSELECT_HD shared_network(Simt& simt, const List& list, position size, const Place& place)
      : simt_(simt), list_(list), size_(size), place_(place) {}

  // Sorts runs of `run` places, alternately in ascending and in descending order. If run == size,
  // the whole list is one ascending run.
  KSELECT_HD void sort_runs(position run) {
    simt_.sync_block();
    for (position sorted = 2; sorted <= run; sorted *= 2) {
      merge_within(sorted, [&](position i) { return (i & sorted) == 0; });
    }
    simt_.sync_block();
  }
  // Sorts bitonic runs of `run` places, in alternating order as sort_runs does.
  KSELECT_HD void merge_runs(position run) {
    simt_.sync_block();
    merge_within(run, [&](position i) { return (i & run) == 0; });
    simt_.sync_block();
  }

 private:
  // Compare-exchanges at distances run/2 ... 1. At distances up to 32 the pairs of a warp lie
  // within 64 places of its own, so only longer distances need a block barrier.
  template <class Ascending>
  KSELECT_HD void merge_within(position run, const Ascending& ascending) {
    if (run > 2 * simt::warp_size) simt_.sync_block();
    for (position distance = run / 2; distance > 0; distance /= 2) {
      for (auto p = static_cast<position>(simt_.thread()); p < size_ / 2;
           p += static_cast<position>(simt_.threads())) {
        const position i = 2 * p - (p & (distance - 1));
        list_.order(place_(i), place_(i + distance), ascending(i));
      }
      if (distance > simt::warp_size) {
        simt_.sync_block();
      } else {
        simt_.sync_warp(simt::full_mask);
      }
    }
  }

  Simt& simt_;
  const List& list_;
  position size_;
  Place place_;
};

template <class Simt, class List, class Place>
KSELECT_HD auto network_on(Simt& simt, const List& list, position size, const Place& place) {
  return shared_network<Simt, List, Place>(simt, list, size, place);
}
template <class Simt, class List>
KSELECT_HD auto network_on(Simt& simt, const List& list, position size) {
  return network_on(simt, list, size, [](position i) { return i; });
}

// ---- in the registers of a warp

// Calls f(integral_constant<int, i>) for i = 0 ... N - 1. The loop is certainly unrolled, so that
// arrays indexed by i stay in registers.
template <int N, class F>
KSELECT_HD constexpr void unrolled(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, i>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

// 32 * registers items. Register r of lane l holds item 32 r + l.
template <class Key, bool indexed, int registers>
struct warp_list {
  static constexpr int size = simt::warp_size * registers;
  using value = item<Key, indexed>;
  value items[registers];

  KSELECT_HD void fill_with_padding() {
    unrolled<registers>([&](auto r) { items[r] = padding<Key, indexed>(); });
  }

  // Sorts the list, in ascending or descending order. All lanes pass the same order.
  template <class Simt>
  KSELECT_HD void sort(Simt& simt, bool ascending) {
    sort_from<2>(simt, ascending);
  }
  // Sorts a bitonic list.
  template <class Simt>
  KSELECT_HD void merge(Simt& simt, bool ascending = true) {
    merge_from<size / 2, size>(simt, ascending);
  }

 private:
  template <int sorted, class Simt>
  KSELECT_HD void sort_from(Simt& simt, bool ascending) {
    merge_from<sorted / 2, sorted>(simt, ascending);
    if constexpr (sorted < size) sort_from<2 * sorted>(simt, ascending);
  }

  // Distances `distance` ... 1 within runs of `run`. The orders of the runs alternate, except that
  // the last merge has the order wanted.
  template <int distance, int run, class Simt>
  KSELECT_HD void merge_from(Simt& simt, bool ascending) {
    unrolled<registers>([&](auto r) {
      constexpr int i = simt::warp_size * decltype(r)::value;  // of lane 0
      if constexpr (distance >= simt::warp_size) {
        constexpr int other = decltype(r)::value + distance / simt::warp_size;
        if constexpr ((i & distance) == 0) {
          order(items[r], items[other], up<run>(i, ascending));
        }
      } else {
        const bool first = (simt.lane() & distance) == 0;
        const bool keeps_lesser = first == up<run>(i + simt.lane(), ascending);
        const value theirs = from_lane(simt, items[r], distance);
        // If the two are equal, either may be kept.
        if (before(theirs, items[r]) == keeps_lesser) items[r] = theirs;
      }
    });
    if constexpr (distance > 1) merge_from<distance / 2, run>(simt, ascending);
  }

  // Whether the run of item i is sorted upwards.
  template <int run>
  KSELECT_HD static constexpr bool up(int i, bool ascending) {
    return run == size ? ascending : (i & run) == 0;
  }
  KSELECT_HD static void order(value& first, value& second, bool ascending) {
    if (before(second, first) == ascending) {
      const value moved = first;
      first = second;
      second = moved;
    }
  }
  template <class Simt>
  KSELECT_HD static value from_lane(Simt& simt, const value& mine, int lane_mask) {
    value theirs{simt.shfl_xor(simt::full_mask, mine.key, lane_mask), 0};
    if constexpr (indexed) theirs.at = simt.shfl_xor(simt::full_mask, mine.at, lane_mask);
    return theirs;
  }
};

}  // namespace kselect::kernels
