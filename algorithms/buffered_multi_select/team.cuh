#pragma once
// Buffered multi-select: who works on a row, and what they share. A *team* is one warp, or all
// warps of a block; the steps are written once, and a team of one warp synchronises within the
// warp. buffered_multi_select_block.cu has the essay.

#include <type_traits>

#include "algorithms/buffered_multi_select/element.hpp"
#include "kernels/gpu_rows.cuh"
#include "kselect/candidate.hpp"

namespace kselect::bms {

using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

// The numbers of a launch, the same for all rows; shape.hpp chooses them.
struct plan {
  position tiles;      // that a row is read in; 1: it stays in registers
  position groups;     // of which a thread takes minima in the first tile: a power of two
  position rank;       // the threshold is at least the rank-th smallest minimum,
  position slack;      // and at most this many minima more are not above it
  position capacity;   // of the list
  position kept_most;  // that a cut of the full list leaves: at least k, less than the capacity
  int bin_bits;        // 2^bin_bits counting bins
};

inline constexpr int most_warps = 32;

// The most groups of a thread in a tile: as many as a load has elements; and where so much of a row
// is wanted that more of them hold more back, by more than it takes to count them.
template <class T>
inline constexpr int few_groups = 16 / sizeof(T);
inline constexpr int many_groups = 8;

// Counting bins of each thread: one 16-byte access.
inline constexpr int bins_each = 4;

// What a team shares, beside its dynamic shared memory.
template <class Key>
struct control {
  position claimed;             // places of the list; beyond the capacity, it has overflowed
  Key low, high;                // extremes, being found
  Key bound;                    // nothing above it enters the list
  Key lowest, highest;          // between which the keys of the list lie
  std::uint32_t closed;         // nothing enters at all
  std::uint32_t no_nans;        // of the first tile: it is certain
  position gathered;            // of an answer
  position tied, holes, moved;  // of a cut
  position written;             // of an answer
  // Found by narrowing, and read in 16 bytes with the one before, which no cut sets meanwhile.
  position bin, before, in_bin;
  position warp_totals[most_warps];
  std::uint32_t refuted;   // what was taken for granted, by any thread
  std::uint32_t left_out;  // there are elements that have not been staged
  std::uint32_t unlike;    // there are two values
};

// The entries of a bin that the answer cuts through are ranked, each against all, if so few.
inline constexpr position ranked_most = 64;

// The survivors of a row that a warp takes into registers without a list.
inline constexpr position brief_most = 4 * simt::warp_size;

template <class T>
using key_of = typename element<T>::key;

template <class T, bool indexed, class Value = typename element<T>::value>
using candidate_of = std::conditional_t<indexed, keyed_candidate<Value>, bare_candidate<Value>>;

// A team's dynamic shared memory.
template <class T, bool indexed>
struct team_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  candidate* list;    // [capacity]
  candidate* ranked;  // [ranked_most]
  // [2^bin_bits + 1], zero between uses but for the last. Threads that are not a power of two have
  // more bins than there are, which lie in what follows: it means nothing when bins are looked at.
  std::uint32_t* bins;
  position* holes;  // [kept_most]

  // The list as two arrays: [capacity] keys, and after them, with indices, as many places of the
  // same width. (Registers that are to be stored as a pair would be carried as pairs all along.)
  using key = key_of<T>;
  KSELECT_HD key* keys() const { return reinterpret_cast<key*>(list); }

  static constexpr std::size_t bytes(const plan& p, int threads = 0) {
    const std::size_t words = (std::size_t{1} << p.bin_bits) + 1 + p.kept_most;
    const auto of_threads = static_cast<std::size_t>(threads) * bins_each;
    const std::size_t all = (p.capacity + std::size_t{ranked_most}) * sizeof(candidate) +
                            (words < of_threads ? of_threads : words) * 4;
    return (all + 15) / 16 * 16;
  }
  KSELECT_HD static team_memory at(void* start, const plan& p) {
    team_memory m;
    m.list = static_cast<candidate*>(start);
    m.ranked = m.list + p.capacity;
    m.bins = reinterpret_cast<std::uint32_t*>(m.ranked + ranked_most);
    m.holes = m.bins + (std::size_t{1} << p.bin_bits) + 1;
    return m;
  }
};

// `quarters`: whether a warp narrows by quarters. It takes half as many steps as by halves, and a
// warp mostly waits for the step before; but more registers, which cost more than that where little
// passes a stream.
template <class Simt, class T, bool indexed_, bool one_warp_, bool quarters_ = false>
class team {
 public:
  using stored = T;  // in the row
  using value = typename element<T>::value;
  using key = key_of<T>;
  using candidates = candidate_of<T, indexed_>;
  using candidate = typename candidates::type;
  static constexpr bool indexed = indexed_;
  static constexpr bool one_warp = one_warp_;
  static constexpr bool quarters = quarters_;

  KSELECT_HD team(Simt& on, control<key>& storage, const team_memory<T, indexed>& own,
                  const plan& numbers)
      : simt(on), shared(storage), memory(own), shape(numbers) {}

  KSELECT_HD position warp() const { return one_warp ? 0 : static_cast<position>(simt.warp()); }
  KSELECT_HD position warps() const { return one_warp ? 1 : static_cast<position>(simt.warps()); }
  KSELECT_HD position thread() const {
    return static_cast<position>(one_warp ? simt.lane() : simt.thread());
  }
  KSELECT_HD position threads() const {
    return static_cast<position>(one_warp ? simt::warp_size : simt.threads());
  }
  KSELECT_HD position lane() const { return static_cast<position>(simt.lane()); }

  KSELECT_HD void sync() {
    if constexpr (one_warp) {
      simt.sync_warp(simt::full_mask);
    } else {
      simt.sync_block();
    }
  }

  // The extremes of the warp's keys, in each lane.
  KSELECT_HD key warp_min(key own) {
    if constexpr (sizeof(key) == 4) {
      return simt.reduce_min(simt::full_mask, own);
    } else {
      for (int delta = simt::warp_size / 2; delta > 0; delta /= 2) {
        const key other = simt.shfl_xor(simt::full_mask, own, delta);
        if (other < own) own = other;
      }
      return own;
    }
  }
  KSELECT_HD key warp_max(key own) { return static_cast<key>(~warp_min(static_cast<key>(~own))); }

  // Takes the sum of the lanes' numbers from a shared counter; returns what it was before.
  KSELECT_HD position take(position& counter, position own) {
    const position all = simt.reduce_add(simt::full_mask, own);
    position before = 0;
    if (lane() == 0) before = simt.atomic_add(counter, all);
    return simt.shfl(simt::full_mask, before, 0);
  }

  // The sum of the lanes' numbers up to the caller's.
  KSELECT_HD position scan(position own) {
    for (int delta = 1; delta < simt::warp_size; delta *= 2) {
      const position other = simt.shfl_up(simt::full_mask, own, delta);
      if (simt.lane() >= delta) own += other;
    }
    return own;
  }

  // Places from a shared counter on for `own` elements of each lane, the lanes' one after the
  // other. Returns the caller's first.
  KSELECT_HD position claim(position& counter, position own) {
    const position up_to = scan(own);
    constexpr int last = simt::warp_size - 1;
    position first = 0;
    if (simt.lane() == last && up_to != 0) first = simt.atomic_add(counter, up_to);
    return simt.shfl(simt::full_mask, first, last) + up_to - own;
  }

  Simt& simt;
  control<key>& shared;
  const team_memory<T, indexed>& memory;
  const plan& shape;
};

}  // namespace kselect::bms
