#pragma once
// Buffered multi-select: multi-selection by counting. A range of keys that holds the key of a
// wanted rank is narrowed until the number of keys up to its end is the wanted one, or close enough
// to it.
//
// A block counts the keys of the range into bins of equal width *on the integer keys*. Integer keys
// are logarithmic in the values, so no distribution puts everything into one bin for long: a step
// leaves at most 2^-bin_bits of the range, and four steps of 8 bits end any range of 32-bit keys.
// Bins take few steps, each with barriers. A warp needs no barriers, so it takes more and cheaper
// steps: it halves the range, with a difference and a sum for each key, or quarters it. The keys
// may be a list in shared memory, elements in registers, or minima.

#include "algorithms/buffered_multi_select/steps/team.cuh"

namespace kselect::bms {

template <class Key>
struct key_range {
  Key low, high;   // both included
  position below;  // keys of the source below `low`,
  position up_to;  // keys of the source not above `high`
  KSELECT_HD position count() const { return up_to - below; }
};

template <class Team>
class narrowing {
 public:
  using key = typename Team::key;
  using range = key_range<key>;

  KSELECT_HD explicit narrowing(Team& team) : team_(team) {}

  // Once a kernel or a row, before anything else here. The next sync makes it visible.
  KSELECT_HD void prepare() {
    *own_bins() = neighbours{};
    forget_extremes();
  }
  // Between calls of extremes() for different rows, with a sync before and one after.
  KSELECT_HD void forget_extremes() {
    if (Team::one_warp || team_.thread() != 0) return;
    team_.shared.seen.low = static_cast<key>(~key{0});
    team_.shared.seen.high = 0;
  }

  // Narrows `r`, which holds the key of rank `wanted` (counted from 1 over the whole source), until
  // at most `slack` keys too many are not above r.high, or all keys in the range are equal, or at
  // most `few` are in it. `visit(f)` calls f(key) for the caller's share of the source. All threads
  // of the team call it, after a sync, and return the same. For a warp, all keys of the source lie
  // in `r`: the sign of a difference orders only keys that are less than half of all keys apart.
  template <class Source>
  KSELECT_HD range to_rank(range r, position wanted, position slack, position few,
                           const Source& visit) {
    KSELECT_ASSERT(r.below < wanted && wanted <= r.up_to);
    if constexpr (Team::one_warp) {
      if (sign_of(r.high - r.low) != 0) {  // the source is too wide for signs of differences
        while (!narrow_enough(r, wanted, slack, few)) {
          r = half(r, wanted, visit, [](key k, key last) { return k <= last ? 1U : 0U; });
        }
        return r;
      }
      while (!narrow_enough(r, wanted, slack, few)) {
        if constexpr (Team::quarters) {
          r = quarter(r, wanted, visit);
        } else {
          r = half(r, wanted, visit, not_above);
        }
      }
      return r;
    } else {
      return by_bins(r, wanted, slack, few, visit);
    }
  }

  // to_rank() for a source so large that a warp, too, counts into bins.
  template <class Source>
  KSELECT_HD range by_bins(range r, position wanted, position slack, position few,
                           const Source& visit) {
    while (!narrow_enough(r, wanted, slack, few)) r = step(r, false, wanted, visit);
    return r;
  }
  // The exact rank in a source of unknown extremes; `guess` should hold the wanted key. A range
  // that is still too wide most likely is one key, many times. So it shrinks to the keys that it
  // holds.
  template <class Source>
  KSELECT_HD range by_bins_around(range guess, position wanted, position few, const Source& visit) {
    if (guess.low != 0) --guess.low;  // keys below the guess get a bin of their own
    range r = step(guess, true, wanted, visit);
    while (!narrow_enough(r, wanted, 0, few)) {
      r = drawn_in(r, visit);
      if (!narrow_enough(r, wanted, 0, few)) r = step(r, false, wanted, visit);
    }
    return r;
  }

  // The bin of the `wanted`-th element; `visit(f)` calls f(bin) for the caller's share. Bins are
  // numbered up to 2^bin_bits. The last is not searched: if the element is there, shared.bin
  // stays what it was, and that is returned. All threads of the team, after a sync.
  template <class Source>
  KSELECT_HD position bin_of_rank(position wanted, const Source& visit) {
    visit([&](position bin) { team_.simt.atomic_add(team_.memory.bins[bin], 1U); });
    team_.sync();
    find_bin(wanted);
    return team_.shared.bin;
  }

  // The extremes of all threads' keys, as a range of `count`. A thread without keys passes the
  // worst key as `low` and the best as `high`.
  KSELECT_HD range extremes(key low, key high, position count) {
    return joined<false>(low, high, count);
  }
  // The same, but `high` is the least of the warps' greatest keys.
  KSELECT_HD range inner_extremes(key low, key high, position count) {
    return joined<true>(low, high, count);
  }

 private:
  template <bool inner>
  KSELECT_HD range joined(key low, key high, position count) {
    low = team_.warp_min(low);
    high = team_.warp_max(high);
    if constexpr (!Team::one_warp) {
      auto& shared = team_.shared;
      if (team_.lane() == 0) {
        team_.simt.atomic_min(shared.seen.low, low);
        // The minimum, as the maximum of complements, as shared.seen.high starts at 0. 0: no keys.
        if (!inner || high != 0) {
          team_.simt.atomic_max(shared.seen.high, inner ? static_cast<key>(~high) : high);
        }
      }
      team_.sync();
      low = shared.seen.low;
      high = inner ? static_cast<key>(~shared.seen.high) : shared.seen.high;
    }
    return {low, high, 0, count};
  }

  template <class Source>
  KSELECT_HD range drawn_in(range r, const Source& visit) {
    const key span = r.high - r.low;
    key low = r.high, high = r.low;
    visit([&](key k) {
      if (static_cast<key>(k - r.low) > span) return;
      if (k < low) low = k;
      if (k > high) high = k;
    });
    const range found = extremes(low, high, r.count());
    return {found.low, found.high, r.below, r.up_to};
  }

  // The thread's bins.
  using neighbours = simt::vec<std::uint32_t, bins_each>;
  KSELECT_HD neighbours* own_bins() const {
    return reinterpret_cast<neighbours*>(team_.memory.bins) + team_.thread();
  }
  KSELECT_HD position bins() const { return position{1} << team_.shape.bin_bits; }

  KSELECT_HD static bool narrow_enough(const range& r, position wanted, position slack,
                                       position few) {
    return r.up_to <= wanted + slack || r.low == r.high || r.count() <= few;
  }

  KSELECT_HD static position sign_of(key difference) {
    return static_cast<position>(difference >> (8 * sizeof(key) - 1));
  }
  // 1 if k <= last, else 0, for keys less than half of all keys apart. A difference and a sum use
  // two pipes. A comparison and a sum use one, which limits rows of a warp.
  KSELECT_HD static position not_above(key k, key last) { return sign_of(k - (last + 1)); }

  // `up_to_last(k, last)`: 1 if k <= last, else 0.
  template <class Source, class Compare>
  KSELECT_HD range half(const range& r, position wanted, const Source& visit,
                        const Compare& up_to_last) {
    const key middle = r.low + (r.high - r.low) / 2;
    position own = 0;
    visit([&](key k) { own += up_to_last(k, middle); });
    const position up_to = team_.simt.reduce_add(simt::full_mask, own);
    if (up_to >= wanted) return {r.low, middle, r.below, up_to};
    return {static_cast<key>(middle + 1), r.high, up_to, r.up_to};
  }

  // The quarter of the range that holds the key of rank `wanted`. Its inner ends are below r.high.
  template <class Source>
  KSELECT_HD range quarter(const range& r, position wanted, const Source& visit) {
    const key span = r.high - r.low;
    const key first = r.low + span / 4, second = r.low + span / 2, third = second + span / 4;
    position to_first = 0, to_second = 0, to_third = 0;
    visit([&](key k) {
      to_first += not_above(k, first);
      to_second += not_above(k, second);
      to_third += not_above(k, third);
    });
    // Two of the sums in one reduction, as 16-bit halves.
    const position two = team_.simt.reduce_add(simt::full_mask, to_first + (to_second << 16));
    const position up_to_third = team_.simt.reduce_add(simt::full_mask, to_third);
    const position up_to_first = two & 0xffff, up_to_second = two >> 16;
    key low = r.low, high = first;
    position below = r.below, up_to = up_to_first;
    if (up_to_first < wanted) {
      low = first + 1;
      high = second;
      below = up_to_first;
      up_to = up_to_second;
    }
    if (up_to_second < wanted) {
      low = second + 1;
      high = third;
      below = up_to_second;
      up_to = up_to_third;
    }
    if (up_to_third < wanted) {
      low = third + 1;
      high = r.high;
      below = up_to_third;
      up_to = r.up_to;
    }
    return {low, high, below, up_to};
  }

  // Keys outside an `open` range count into its first and last bin. Keys outside any other range
  // count into an extra bin that is not searched: a branch would cost more.
  template <class Source>
  KSELECT_HD range step(const range& r, bool open, position wanted, const Source& visit) {
    constexpr auto greatest = static_cast<key>(~key{0});
    const key span = r.high - r.low;
    const int width = 8 * static_cast<int>(sizeof(key)) - team_.simt.clz(span);
    const int shift = width > team_.shape.bin_bits ? width - team_.shape.bin_bits : 0;
    const key least = open ? r.low : key{0};
    const key last = open ? bins() - 1 : bins();
    visit([&](key k) {
      const auto above = static_cast<key>((k > least ? k : least) - r.low) >> shift;
      team_.simt.atomic_add(team_.memory.bins[above < last ? above : last], 1U);
    });
    team_.sync();
    find_bin(wanted - r.below);
    const auto& found = team_.shared;  // not overwritten before the next step's first sync
    const key low = r.low + (static_cast<key>(found.bin) << shift);
    const key high = low + ((key{1} << shift) - 1);
    const key most = open ? greatest : r.high;
    range next;
    next.low = open && found.bin == 0 ? key{0} : low;
    next.high = high < low || high > most || (open && found.bin == last) ? most : high;
    next.below = r.below + found.before;
    next.up_to = next.below + found.in_bin;
    return next;
  }

  // Finds the bin at which the counts reach `wanted`, and clears all bins. Each thread adds up its
  // neighbouring bins, the sums are scanned, and the thread whose bins reach `wanted` finds the
  // bin.
  KSELECT_HD void find_bin(position wanted) {
    auto& shared = team_.shared;
    const position first = team_.thread() * bins_each;
    auto* const counts = own_bins();
    const neighbours own = *counts;
    *counts = neighbours{};
    position sum = 0;
    KSELECT_UNROLL
    for (int i = 0; i < bins_each; ++i) sum += own[i];
    position up_to = team_.scan(sum);
    if constexpr (!Team::one_warp) {
      if (team_.lane() == simt::warp_size - 1) shared.warp_totals[team_.warp()] = up_to;
      team_.sync();
      const position total = team_.lane() < team_.warp() ? shared.warp_totals[team_.lane()] : 0;
      up_to += team_.simt.reduce_add(simt::full_mask, total);
    }
    position before = up_to - sum;
    if (before < wanted && wanted <= up_to) {
      KSELECT_UNROLL
      for (int i = 0; i < bins_each; ++i) {
        if (before < wanted && wanted <= before + own[i]) {
          shared.bin = first + static_cast<position>(i);
          shared.before = before;
          shared.in_bin = own[i];
        }
        before += own[i];
      }
      shared.seen.low = static_cast<key>(~key{0});  // for drawn_in()
      shared.seen.high = 0;
    }
    team_.sync();
  }

  Team& team_;
};

}  // namespace kselect::bms
