#pragma once
// Ordered selection: sorts an answer by a team of 1 to 1024 neighbouring threads of a block, with
// eight elements each. Short answers share a warp.
//
// A bitonic network (Batcher 1968). Each merge begins by comparing every element with its mirror
// image, so that all runs ascend. The sorted elements of a thread are neighbours. So three
// distances of each merge stay in registers, five are shuffles, and only runs of more than 256
// elements use shared memory.

#include <utility>

#include "kernels/bitonic.cuh"

namespace kselect::ordered {

using kernels::item;
using kernels::position;

inline constexpr int each = 8;  // elements of a thread

// The elements of a block in shared memory, eight a thread. Every 32 are followed by a gap, because
// lanes that read neighbouring elements would otherwise have bank conflicts.
template <class Key, bool indexed>
class exchange_memory {
 public:
  using element = item<Key, indexed>;

  static constexpr std::size_t bytes(int threads) {
    const std::size_t places =
        static_cast<std::size_t>(padded(static_cast<position>(each * threads)));
    return places * (sizeof(Key) + (indexed ? sizeof(position) : 0));
  }
  KSELECT_HD exchange_memory(void* start, int threads)
      : list_(kernels::shared_list<Key, indexed>::at(
            start, padded(static_cast<position>(each * threads)))) {}

  KSELECT_HD element get(position place) const { return list_.get(padded(place)); }
  KSELECT_HD void put(position place, const element& e) const { list_.set(padded(place), e); }

 private:
  KSELECT_HD static constexpr position padded(position place) { return place + place / 32; }

  kernels::shared_list<Key, indexed> list_;
};

template <class Simt, class Key, bool indexed>
class team_sort {
 public:
  using element = item<Key, indexed>;
  using memory = exchange_memory<Key, indexed>;

  // `threads`, a power of two, sort each answer. All threads of the block take part.
  KSELECT_HD team_sort(Simt& simt, const memory& shared, int threads)
      : simt_(simt), shared_(shared), threads_(threads) {}

  // Sorts the elements of the caller's team. Its thread t then has elements 8t to 8t + 7.
  KSELECT_HD void run(element (&own)[each]) {
    sort_own<2>(own);
    for (int span = 2; span <= threads_; span *= 2) {
      exchange<true>(own, span - 1);
      for (int distance = span / 4; distance > 0; distance /= 2) exchange<false>(own, distance);
      merge_own<each / 2>(own);
    }
  }

 private:
  template <int run>
  KSELECT_HD static void sort_own(element (&own)[each]) {
    kernels::unrolled<each>([&](auto i) {
      constexpr int first = decltype(i)::value;
      constexpr int mirror = first ^ (run - 1);
      if constexpr (first < mirror) order(own[first], own[mirror]);
    });
    merge_own<run / 4>(own);
    if constexpr (run < each) sort_own<2 * run>(own);
  }

  template <int distance>
  KSELECT_HD static void merge_own(element (&own)[each]) {
    if constexpr (distance > 0) {
      kernels::unrolled<each>([&](auto i) {
        constexpr int first = decltype(i)::value;
        if constexpr ((first & distance) == 0) order(own[first], own[first + distance]);
      });
      merge_own<distance / 2>(own);
    }
  }

  KSELECT_HD static void order(element& first, element& second) {
    const bool swap = before(second, first);
    const element lesser = swap ? second : first;
    second = swap ? first : second;
    first = lesser;
  }

  // Compares the caller's elements with those of thread self ^ other; the lower thread keeps the
  // lesser ones. `mirrored`: compares its last element with the other's first, and so on.
  template <bool mirrored>
  KSELECT_HD void exchange(element (&own)[each], int other) {
    const int self = simt_.thread();
    const bool lower = self < (self ^ other);
    if (other < simt::warp_size) {
      kernels::unrolled<each / 2>([&](auto i) {
        constexpr int a = decltype(i)::value;
        constexpr int b = each - 1 - a;
        const element for_a = from_lane(own[mirrored ? b : a], other);
        const element for_b = from_lane(own[mirrored ? a : b], other);
        keep(own[a], for_a, lower);
        keep(own[b], for_b, lower);
      });
      return;
    }
    const auto threads = static_cast<position>(simt_.threads());
    const auto mine = static_cast<position>(self), theirs = static_cast<position>(self ^ other);
    kernels::unrolled<each>([&](auto i) { shared_.put(i * threads + mine, own[i]); });
    simt_.sync_block();
    kernels::unrolled<each>([&](auto i) {
      constexpr int from = mirrored ? each - 1 - decltype(i)::value : decltype(i)::value;
      keep(own[i], shared_.get(from * threads + theirs), lower);
    });
    simt_.sync_block();
  }

  KSELECT_HD static void keep(element& mine, const element& theirs, bool lesser) {
    if (before(theirs, mine) == lesser) mine = theirs;
  }
  KSELECT_HD element from_lane(const element& mine, int lane_mask) {
    element theirs{simt_.shfl_xor(simt::full_mask, mine.key, lane_mask), 0};
    if constexpr (indexed) theirs.at = simt_.shfl_xor(simt::full_mask, mine.at, lane_mask);
    return theirs;
  }

  Simt& simt_;
  const memory& shared_;
  int threads_;
};

}  // namespace kselect::ordered
