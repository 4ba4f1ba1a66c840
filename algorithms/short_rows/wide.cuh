#pragma once
// Many short rows of 32-bit elements, as words (dtypes.hpp): one kernel serves float32 and
// integers.
//
//   1. A bound. Each lane takes the minima of groups of its elements and sorts them by a network.
//      The team keeps the `list` least of all its minima. The last of them is not below the k-th
//      element, as k <= list. Where a group is one element, it is the list-th exactly.
//   2. The elements not above the bound go to a list in shared memory: k of them, or a few more.
//   3. If there are more, each is ranked among the others. The k best are written.
//
// Too many may not be above the bound. Mostly these equal it, and so does the k-th. Otherwise, and
// if fewer than k keys are below the greatest, the k-th is found bit by bit. Everything below the
// k-th is then taken, and as many equals as are wanted.

#include <limits>

#include "algorithms/short_rows/network.cuh"
#include "algorithms/short_rows/shape.cuh"

namespace kselect::short_rows {

// team: lanes of a row. items: elements of a lane. list: at least k.
template <int team, int items, int list>
struct wide_kernel {
  static constexpr int max_threads = warps_of_block * simt::warp_size;
  static constexpr int min_blocks = items <= 16 ? 8 : items <= 32 ? 6 : 4;  // by registers
  static constexpr int listed = list;
  using element = word<std::uint32_t>;
  using share = share_of_row<element, team, items>;
  using args = kernel_args<element>;
  using record = std::uint64_t;  // an element's key and, below it, its place

  static constexpr position most = 2 * list + 16;  // survivors that are ranked
  struct storage {
    record survivors[warps_of_block][share::rows_of_warp][most + 1];  // + 1: rows in other banks
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const share own = share::of(simt, a.matrix.rows);
    wide_kernel(shared.survivors[simt.warp()][simt.lane() / team], a, own).select(simt);
  }

 private:
  using key = std::uint32_t;
  static constexpr key no_element = std::numeric_limits<key>::max();
  static constexpr int bits = 32;
  static constexpr int sets = (items + bits - 1) / bits;
  using item_set = std::uint32_t[sets];

  KSELECT_HD wide_kernel(record (&survivors)[most + 1], const args& a, const share& own)
      : survivors_(survivors), a_(a), own_(own) {}

  template <class Simt>
  KSELECT_HD void select(Simt& simt) {
    key keys[items];
    load(simt, keys);
    // Places without an element must not pass. Elements with that key go by leave_ties().
    const key bound = lesser(bound_of(simt, a_.by, keys), no_element - 1);
    item_set passed = {};
    position count = 0;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) {
      if (keys[i] <= bound) passed[i / bits] |= 1U << (i % bits);
    }
    KSELECT_UNROLL for (int s = 0; s < sets; ++s) {
      count += static_cast<position>(simt.popc(passed[s]));
    }
    const auto sum = sum_of_team<team>(simt, count);
    const bool few = sum.whole >= a_.matrix.k && sum.whole <= most;
    if (few) leave(simt, passed, sum.before);
    if (simt.any(simt::full_mask, !few)) leave_ties(simt, bound, sum.whole, !few);
    simt.sync_warp(simt::full_mask);
    if (own_.writes) write_best(simt, few ? sum.whole : a_.matrix.k);
  }

  template <class Simt>
  KSELECT_HD void load(Simt& simt, key (&keys)[items]) const {
    own_.load(simt, a_, keys);
    // selection_key(), but by a product, which takes another pipe than the comparisons.
    const auto [below_zero, always] = a_.matrix.wanted;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) {
      keys[i] = keys[i] ^ ((keys[i] >> 31) * below_zero) ^ always;
    }
    own_.each_missing(a_.matrix.n, [&](int i) { keys[i] = no_element; });
  }

  // ---- 1. the bound

  template <class Simt>
  KSELECT_HD static key bound_of(Simt& simt, const factors& by, const key (&keys)[items]) {
    // So few elements that each is a group.
    constexpr int groups = items <= 16 ? items : list;
    key minima[groups];
    KSELECT_UNROLL for (int g = 0; g < groups; ++g) {
      minima[g] = keys[g];
      KSELECT_UNROLL for (int i = g + groups; i < items; i += groups) {
        minima[g] = lesser(minima[g], keys[i]);
      }
    }
    sort(by, minima);
    key least[list];
    KSELECT_UNROLL for (int i = 0; i < list; ++i) least[i] = minima[i];
    keep_least_of_team<team>(simt, by, least);
    key last = least[0];
    KSELECT_UNROLL for (int i = 1; i < list; ++i) last = greater(last, least[i]);
    return last;
  }

  // ---- 2. survivors

  // They are read again: an item whose number is computed cannot come from a register.
  template <class Simt>
  KSELECT_HD void leave(Simt& simt, const item_set& passed, position to) const {
    const auto elements = kernels::row_at(simt, a_.matrix, own_.row);
    KSELECT_UNROLL for (int s = 0; s < sets; ++s) {
      for (std::uint32_t left = passed[s]; left != 0; left &= left - 1) {
        const position at = own_.place(s * bits + simt.ffs(left) - 1);
        survivors_[to++] = recorded(selection_key(simt.load(elements, at), a_.matrix.wanted), at);
      }
    }
  }
  // Leaves the k best of a row of which `passed` elements are not above the bound: too many, or
  // fewer than k. `leaves`: of this row.
  template <class Simt>
  KSELECT_HD void leave_ties(Simt& simt, key bound, position passed, bool leaves) const {
    key keys[items];
    load(simt, keys);
    const position k = a_.matrix.k;
    const position below_bound = below(simt, keys, bound).whole;
    const bool is_kth = below_bound < k && passed >= k;
    key kth = bound;
    if (simt.any(simt::full_mask, leaves && !is_kth)) {
      const key found = bisected(simt, keys);
      if (!is_kth) kth = found;
    }
    position equals = 0;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) {
      equals += keys[i] == kth && own_.place(i) < a_.matrix.n ? 1 : 0;
    }
    const team_sum less = below(simt, keys, kth);
    position to_less = less.before;
    position to_equal = less.whole + sum_of_team<team>(simt, equals).before;
    if (!leaves) return;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) {
      if (own_.place(i) >= a_.matrix.n || keys[i] > kth) continue;
      const position to = keys[i] < kth ? to_less++ : to_equal++;
      if (to < k) survivors_[to] = recorded(keys[i], own_.place(i));
    }
  }
  template <class Simt>
  KSELECT_HD key bisected(Simt& simt, const key (&keys)[items]) const {
    key kth = 0;
    for (key bit = 1U << 31; bit != 0; bit >>= 1) {
      if (below(simt, keys, kth | bit).whole < a_.matrix.k) kth |= bit;
    }
    return kth;
  }
  template <class Simt>
  KSELECT_HD static team_sum below(Simt& simt, const key (&keys)[items], key limit) {
    position count = 0;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) count += keys[i] < limit ? 1 : 0;
    return sum_of_team<team>(simt, count);
  }
  KSELECT_HD static record recorded(key of, position at) { return record{of} << 32 | at; }

  // ---- 3. the answer

  template <class Simt>
  KSELECT_HD void write_best(Simt& simt, position size) const {
    for (position s = own_.lane; s < size; s += team) {
      const record mine = survivors_[s];
      position rank = s;
      if (size > a_.matrix.k) {
        rank = 0;
        for (position i = 0; i < size; ++i) rank += survivors_[i] < mine ? 1 : 0;
      }
      if (rank >= a_.matrix.k) continue;
      write(simt, a_, own_.row, rank, static_cast<key>(mine >> 32), static_cast<position>(mine));
    }
  }

  record (&survivors_)[most + 1];
  const args& a_;
  share own_;
};

}  // namespace kselect::short_rows
