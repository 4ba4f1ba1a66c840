#pragma once
// Buffered multi-select: the team that works on a row, and its shared memory. A *team* is one warp,
// or all warps of a block. Each step is written once for both; a team of one warp synchronises
// within the warp. buffered_multi_select_block.cu explains the algorithm.

#include <type_traits>

#include "algorithms/buffered_multi_select/steps/element.hpp"
#include "kernels/gpu_rows.cuh"
#include "kernels/warp_sums.cuh"
#include "kselect/candidate.hpp"
#include "kselect/simt/assert.hpp"

namespace kselect::bms {

using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

// The numbers of a launch, the same for all rows; shape.hpp chooses them. (They are grouped by
// comments: as members of a struct each, they make nvcc allocate registers in another way.)
struct plan {
  position tiles;  // of a row; 1: the row stays in registers
  // The threshold (threshold.cuh).
  position groups;  // of a thread in the first tile: a power of two
  position rank;    // the threshold is at least the rank-th smallest group minimum,
  position slack;   // and at most `slack` more minima are not above it
  // The list (survivors.cuh).
  position capacity;   // entries
  position kept_most;  // entries after a cut of the full list: at least k, less than the capacity
  // Counting (narrowing.cuh).
  int bin_bits;  // 2^bin_bits bins
};

inline constexpr int most_warps = 32;

// The most groups of a thread in a tile: one for each element of a load, and at most 8. Large k
// needs many groups: they hold more elements back, which then outweighs counting more minima.
template <class T>
inline constexpr int few_groups = sizeof(T) == 1 ? 8 : 16 / sizeof(T);
inline constexpr int many_groups = 8;

// Counting bins of each thread: one 16-byte access.
inline constexpr int bins_each = 4;

// A team's static shared memory, by the step that writes it.
//
// narrowing.cuh. `seen` is reset (low: worst key, high: 0) before each search for extremes.
template <class Key>
struct seen_keys {
  Key low, high;
};
// survivors.cuh, from start() to finish().
template <class Key>
struct list_state {
  Key bound;              // nothing above it enters the list
  Key lowest, highest;    // the keys of the list lie between them
  std::uint32_t closed;   // the list admits nothing
  std::uint32_t no_nans;  // the first tile is known to have no NaN
};
// survivors.cuh, during a cut.
struct cut_counts {
  position tied, holes, moved;  // ties kept, holes found, entries moved
};
// by_bracket.cuh. All are zero before.
struct bracket_proof {
  std::uint32_t refuted;   // some thread found an assumption wrong
  std::uint32_t left_out;  // some elements were not staged
  std::uint32_t unlike;    // there are two different values
};

template <class Key>
struct team_storage {
  position claimed;  // places claimed in the list; above the capacity, it has overflowed
  seen_keys<Key> seen;
  list_state<Key> list;
  position gathered;  // answer.cuh: candidates to be ranked
  cut_counts cut;
  position written;  // answer.cuh: places written
  // narrowing.cuh: the bin of the wanted rank, keys before it, keys in it. Valid until the first
  // sync of the next search. They are read in one 16-byte access with `written`, which no cut
  // changes. (In a struct of their own they give one kernel other registers.)
  position bin, before, in_bin;
  position warp_totals[most_warps];
  bracket_proof proof;
};

// The most entries that are ranked, each against all, if the answer takes only some of a bin.
inline constexpr position ranked_most = 64;

// The most survivors that a warp takes into registers without a list.
inline constexpr position brief_most = 4 * simt::warp_size;

template <class T>
using key_of = typename element<T>::key;

template <class T, bool indexed, class Value = typename element<T>::value>
using candidate_of = std::conditional_t<indexed, keyed_candidate<Value>, bare_candidate<Value>>;

// A team's dynamic shared memory. The first array serves one step after the other: a grid's blocks
// search the row's minima there until there is a threshold; then it holds the survivors, or for
// brief rows their numbers; and in the end the staged answer (staging.cuh).
template <class T, bool indexed>
struct team_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  candidate* list;    // [capacity]: survivors
  candidate* ranked;  // [ranked_most]
  // [2^bin_bits + 1], zero between uses except the last. If the thread count is no power of two,
  // the last threads own bins beyond the array, in `holes`. `holes` is not in use while bins are.
  std::uint32_t* bins;
  position* holes;  // [kept_most]

  using key = key_of<T>;
  // In place of the list: a row's minima, as many as fit.
  KSELECT_HD key* minima() const { return reinterpret_cast<key*>(list); }
  // In place of the list: numbers of a brief row's survivors.
  KSELECT_HD position* numbers() const { return reinterpret_cast<position*>(list); }
  // In place of the list: two arrays, [capacity] keys and then, with indices, [capacity] places of
  // the same width. (If a key and a place were stored as one pair, ptxas would keep their registers
  // paired throughout.)
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

// `quarters`: a warp narrows by quarters, not by halves. This takes half the steps, and a warp
// mostly waits for the step before. It also takes more registers, which costs more than it saves in
// a stream that few elements pass. `ragged`: the plan differs from row to row. Then, and for words,
// outputs that are not wanted are empty: one instance serves all payloads.
template <class Simt, class T, bool indexed_, bool one_warp_, bool quarters_ = false,
          bool ragged_ = false>
class team {
 public:
  using stored = T;  // the row's type
  using value = typename element<T>::value;
  using key = key_of<T>;
  using candidates = candidate_of<T, indexed_>;
  using candidate = typename candidates::type;
  static constexpr bool indexed = indexed_;
  static constexpr bool one_warp = one_warp_;
  static constexpr bool quarters = quarters_;
  static constexpr bool ragged = ragged_;
  static constexpr bool may_be_unwanted = ragged_ || is_word<T>;  // outputs

  KSELECT_HD team(Simt& on, team_storage<key>& storage, const team_memory<T, indexed>& own,
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

  // The extremes of the lanes' keys, in each lane.
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

  // Adds the sum of the lanes' numbers to a shared counter. Returns the counter's value before.
  KSELECT_HD position take(position& counter, position own) {
    const position all = simt.reduce_add(simt::full_mask, own);
    position before = 0;
    if (lane() == 0) before = simt.atomic_add(counter, all);
    return simt.shfl(simt::full_mask, before, 0);
  }

  // Inclusive prefix sum over the lanes.
  KSELECT_HD position scan(position own) { return kernels::sum_up_to_lane(simt, own); }

  // Claims `own` places for each lane from a shared counter, in the order of lanes. Returns the
  // caller's first place.
  KSELECT_HD position claim(position& counter, position own) {
    const position up_to = scan(own);
    constexpr int last = simt::warp_size - 1;
    position first = 0;
    if (simt.lane() == last && up_to != 0) first = simt.atomic_add(counter, up_to);
    return simt.shfl(simt::full_mask, first, last) + up_to - own;
  }

  Simt& simt;
  team_storage<key>& shared;
  const team_memory<T, indexed>& memory;
  const plan& shape;
};

}  // namespace kselect::bms
