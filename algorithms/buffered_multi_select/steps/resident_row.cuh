#pragma once
// Buffered multi-select: a row that its team holds whole in registers, for k so large a part of n
// that a threshold would hold little back.
//
// Instructions limit such rows, most of all those of the integer pipe. So values are counted into
// bins of equal width *as floats*, which gives a bracket of the k-th value (bracket.cuh). Elements
// are compared with the bracket's ends by the sign of a difference. The counts below and inside
// prove the bracket, whatever it came from. Elements below are staged for coalesced stores.
// Elements inside are ranked, or taken as they come if they are one value. The proof fails if there
// are NaNs, or values too unlike each other for bins of equal width. Then, and for doubles, integer
// keys are counted (narrowing.cuh): slower, but for any input.

#include "algorithms/buffered_multi_select/steps/by_bracket.cuh"

namespace kselect::bms {

template <class Reader>
class resident_row {
 public:
  using Team = typename Reader::Team;
  using stored = typename Team::stored;
  using value = typename Team::value;
  using key = typename Team::key;
  using tile = typename Reader::tile;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;
  static constexpr int items = Reader::items;

  KSELECT_HD resident_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), staged_(team, row.orientation()), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    if (team_.thread() == 0) {
      team_.simt.count(simt::counter::passes);
      team_.shared.claimed = 0;
      team_.shared.gathered = 0;
      team_.shared.written = 0;
      team_.shared.proof.refuted = 0;
      team_.shared.proof.left_out = 0;
      team_.shared.proof.unlike = 0;
      team_.shared.bin = ~position{0};
    }
    row_.load(0, own_);
    end_ = row_.has_end() ? element<stored>::value_of(row_.key_at(row_.end_place())) : value{};
    key_range<key> guess = sample();
    if constexpr (std::is_same_v<value, float>) {
      bracket found;
      for (int attempt = 0; attempt < 2; ++attempt) {
        found = bracket_of(team_, narrow_, guess, attempt * wider, k_,
                           [&](const auto& f) { visit(f); });
        if (found.known || !found.beyond) break;
      }
      if (found.known) {
        if (selection_by_bracket<false, Team, resident_row>(team_, *this, k_, out.wanted())
                .write(found, out)) {
          return;
        }
        guess = {element<stored>::key_of(found.low), element<stored>::key_of(found.high), 0, 0};
      }
    }
    by_keys(guess, out);
  }

  // ---- interface for selection_by_bracket (by_bracket.cuh)

  template <class F>
  KSELECT_HD void visit(const F& f) const {
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) f(own_.x[i]);
    if (row_.has_end()) f(end_);
  }
  KSELECT_HD part not_above(float limit) const {
    return {~above(team_.simt, own_.x, limit) & own_.held,
            row_.has_end() && team_.simt.exceeds(end_, limit) == 0};
  }
  template <class F>
  KSELECT_HD void each(const part& p, const F& f) const {
    each(
        p, [&](int i) { return own_.x[i]; }, end_, f);
  }
  // Reads each element again: registers cannot be indexed.
  static constexpr position most_keys = 4;
  template <class F>
  KSELECT_HD void each_key(const part& p, const F& f) const {
    for (item_set rest = p.items; rest != 0; rest &= rest - 1) {
      const position place = row_.place(0, team_.simt.ffs(rest) - 1);
      f(row_.key_at(place), place);
    }
    if (p.end) f(element<stored>::key_of(end_), row_.end_place());
  }
  template <class F>
  KSELECT_HD void each_place(const part& p, const F& f) const {
    for (item_set rest = p.items; rest != 0; rest &= rest - 1) {
      f(row_.place(0, team_.simt.ffs(rest) - 1));
    }
    if (p.end) f(row_.end_place());
  }

 private:
  // The keys between which the k-th should lie. Bins of keys may have any width: the guess is the
  // extremes of each thread's first and last element, which suits ascending and descending rows.
  // For bins of values the upper end is as low as it can be while it covers the k-th of a row in
  // random order: all elements above share one bin, whose updates cause no bank conflicts. A thread
  // takes the minimum of a few of its elements, a warp the maximum of its threads' minima, and the
  // team the minimum over its warps.
  KSELECT_HD key_range<key> sample() {
    using as_element = element<stored>;
    auto low = static_cast<key>(~key{0});
    key high = 0;
    const auto take = [&](key k) {
      if (k < low) low = k;
      if (k > high) high = k;
    };
    const bool first = (own_.held & 1U) != 0, last = (own_.held >> (items - 1) & 1U) != 0;
    if constexpr (std::is_same_v<value, float> && !Team::one_warp) {
      if (4 * k_ <= row_.size()) {
        value least = own_.x[0];
        const auto also = [&](int i) { least = team_.simt.smaller(least, own_.x[i]); };
        also(items / 2);
        also(items / 4);
        also(items / 4 * 3);
        if (items >= 8 && 8 * k_ <= row_.size()) {
          KSELECT_UNROLL
          for (int i = 1; i < 8; i += 2) also(items / 8 * i);
        }
        if (first) {
          take(as_element::key_of(least));
        } else if (row_.has_end()) {
          take(as_element::key_of(end_));
        }
        return narrow_.inner_extremes(low, high, row_.size());
      }
    }
    if (first) take(as_element::key_of(own_.x[0]));
    if (last) take(as_element::key_of(own_.x[items - 1]));
    if (row_.has_end()) take(as_element::key_of(end_));
    return std::is_same_v<value, float> ? narrow_.inner_extremes(low, high, row_.size())
                                        : narrow_.extremes(low, high, row_.size());
  }
  // If the k-th is beyond all bins, as in sorted rows, they become 2^wider times as wide.
  static constexpr int wider = 4;

  // ---- by keys

  KSELECT_HD void by_keys(const key_range<key>& guess, answer<Team>& out) {
    key keys[items];
    find_keys(keys);
    const key end = element<stored>::key_of(end_);
    const auto r = narrow_.by_bins_around(guess, k_, ranked_most, [&](const auto& f) {
      KSELECT_UNROLL
      for (int i = 0; i < items; ++i) f(keys[i]);
      if (row_.has_end()) f(end);
    });
    if (team_.thread() == 0) team_.shared.claimed = 0;
    team_.sync();
    const position rest = k_ - r.below;  // wanted of those in the range
    const bool whole = r.up_to == k_;
    const bool tied = r.low == r.high;
    part below{};
    if (whole || r.below != 0) {
      below = not_above(keys, end, whole ? r.high : static_cast<key>(r.low - 1));
    }
    const position own = below.size(team_.simt);
    if (team_.simt.any(simt::full_mask, own != 0)) {
      typename staging<Team>::cursor cursor(staged_, team_.claim(team_.shared.claimed, own));
      each(
          below, [&](int i) { return keys[i]; }, end,
          [&](key k, position place) { cursor.put(word_of(k), place); });
    }
    if (!whole) {
      const part inside = not_above(keys, end, r.high).without(below);
      enter_few(inside, r, end, tied ? rest : r.count());
    }
    team_.sync();
    out.copy_staged(whole || tied ? k_ : r.below, staged_, [](value) {});
    if (whole || tied) return;
    out.rank(team_.shared.gathered, r.below, rest,
             [&](position i) { return staged_.at(r.below + i); });
  }

  // Elements that the row does not have get the worst key. A NaN may have it too, so they are
  // counted like one, but they never enter the list.
  KSELECT_HD void find_keys(key (&keys)[items]) const {
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) keys[i] = element<stored>::key_of(own_.x[i]);
    if (own_.held != ~item_set{0} >> (32 - items)) {
      KSELECT_UNROLL
      for (int i = 0; i < items; ++i) {
        if ((own_.held >> i & 1U) == 0) keys[i] = static_cast<key>(~key{0});
      }
    }
  }

  // The thread's elements with keys up to `last`.
  KSELECT_HD part not_above(const key (&keys)[items], key end, key last) const {
    part p{0, row_.has_end() && end <= last};
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (keys[i] <= last) p.items |= item_set{1} << i;
    }
    p.items &= own_.held;
    return p;
  }

  // Stages elements of range `r` behind those below it, at most `most`. They are few, or equal.
  KSELECT_HD void enter_few(const part& p, const key_range<key>& r, key end, position most) {
    const position own = p.size(team_.simt);
    if (!team_.simt.any(simt::full_mask, own != 0)) return;
    position to = team_.claim(team_.shared.gathered, own);
    const bool tied = r.low == r.high;
    for (item_set rest = p.items; rest != 0 && to < most; rest &= rest - 1, ++to) {
      const position place = row_.place(0, team_.simt.ffs(rest) - 1);
      staged_.put(r.below + to, tied ? word_of(r.low) : row_.key_at(place), place);
    }
    if (p.end && to < most) {
      staged_.put(r.below + to, tied ? word_of(end) : end, row_.end_place());
    }
  }

  KSELECT_HD key word_of(key k) const { return staged_.word_of(element<stored>::value_of(k)); }

  // Calls f(of(i), place) for the items of a part that may be large, straight from the registers,
  // and f(of_end, place) for its end.
  template <class Of, class What, class F>
  KSELECT_HD void each(const part& p, const Of& of, What of_end, const F& f) const {
    row_.template each_place<!Team::one_warp>(0, [&](int i, position place) {
      if ((p.items >> i & 1U) != 0) f(of(i), place);
    });
    if (p.end) f(of_end, row_.end_place());
  }

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  staging<Team> staged_;
  position k_;
  tile own_;
  value end_;
};

}  // namespace kselect::bms
