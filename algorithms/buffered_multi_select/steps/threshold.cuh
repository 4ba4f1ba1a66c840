#pragma once
// Buffered multi-select: the threshold of a row.
//
// The r-th smallest of the minima of disjoint groups is not below the r-th smallest element: r
// groups hold at least one element each that is not above it. (This is the first level of the
// hierarchical partition of Tang et al. 2015, used as a threshold.) It costs one min an element,
// and about as many elements pass it as groups. With r = k over a whole row it is a guarantee. On a
// tile of a longer row r is chosen so that it almost surely is one (shape.hpp).
//
// A group takes some components of all of a thread's loads, so that neighbours in memory fall into
// different groups: in a sorted row the smallest are neighbours. A group with a NaN counts as the
// worst, which keeps the guarantee.

#include "algorithms/buffered_multi_select/steps/narrowing.cuh"
#include "algorithms/buffered_multi_select/steps/row.cuh"

namespace kselect::bms {

// The minima of the caller's groups of a tile: x[0] to x[plan.groups - 1].
template <class Value, int most>
struct group_minima {
  Value x[most];
};

template <int most, class Reader, class Team>
KSELECT_HD auto minima_of(Team& team, const typename Reader::tile& t) {
  static_assert(Reader::items % most == 0);
  group_minima<typename Reader::value, most> least;
  KSELECT_UNROLL
  for (int g = 0; g < most; ++g) {
    least.x[g] = t.x[g];
    KSELECT_UNROLL
    for (int i = g + most; i < Reader::items; i += most) {
      least.x[g] = team.simt.smaller(least.x[g], t.x[i]);
    }
  }
  KSELECT_UNROLL
  for (int half = most / 2; half > 0; half /= 2) {
    if (static_cast<int>(team.shape.groups) > half) continue;
    KSELECT_UNROLL
    for (int g = 0; g < half; ++g) least.x[g] = team.simt.smaller(least.x[g], least.x[g + half]);
  }
  return least;
}

// A threshold, and whether the elements that it comes from certainly have no NaN.
template <class Key>
struct found_threshold {
  Key bound;
  bool no_nans;
};

// Whether groups of at least two floats certainly have no NaN, by the greatest key of their minima.
// If a float is NaN, the minimum is the NaN with the greatest key. (Among doubles it may be another
// NaN, but not_above() in row.cuh does not use this for doubles.)
template <class T>
KSELECT_HD bool without_nans(key_of<T> greatest_minimum) {
  return greatest_minimum <= element<T>::key_of(element<T>::last);
}

// The bound is a key such that `rank` to rank + slack of `count` minima are not above it, or more
// if minima are equal. `visit(f)` calls f(key) for the caller's share. After a sync.
template <class Team, class Source>
KSELECT_HD found_threshold<typename Team::key> threshold(narrowing<Team>& narrow, position count,
                                                         position rank, position slack,
                                                         const Source& visit) {
  using key = typename Team::key;
  auto low = static_cast<key>(~key{0});
  key high = 0;
  visit([&](key k) {
    if (k < low) low = k;
    if (k > high) high = k;
  });
  const auto all = narrow.extremes(low, high, count);
  return {narrow.to_rank(all, rank, slack, 0, visit).high,
          without_nans<typename Team::stored>(all.high)};
}

// threshold() by one warp in quarters, of `minimum(0)` to minimum(own - 1) of each lane. Missing
// minima count as the greatest key, which only the last quarter reaches: cheaper than a test.
template <int most, class Team, class Minimum>
KSELECT_HD found_threshold<typename Team::key> threshold_of_lanes(narrowing<Team>& narrow, int own,
                                                                  position count, position rank,
                                                                  position slack,
                                                                  const Minimum& minimum) {
  using key = typename Team::key;
  key keys[most];
  keys[0] = minimum(0);
  key low = keys[0], high = keys[0];
  KSELECT_UNROLL
  for (int g = 1; g < most; ++g) {
    const key own_key = minimum(g);  // a constant index keeps it in a register
    keys[g] = g < own ? own_key : keys[0];
    if (keys[g] < low) low = keys[g];
    if (keys[g] > high) high = keys[g];
  }
  const auto all = narrow.extremes(low, high, count);
  KSELECT_UNROLL
  for (int g = 1; g < most; ++g) keys[g] = g < own ? keys[g] : all.high;
  const auto r = narrow.to_rank(all, rank, slack, 0, [&](const auto& f) {
    KSELECT_UNROLL
    for (int g = 0; g < most; ++g) f(keys[g]);
  });
  return {r.high, without_nans<typename Team::stored>(all.high)};
}

// The threshold of the groups of the team's first tile; the worst key if there are too few groups.
template <int most, class Reader, class Team>
KSELECT_HD found_threshold<typename Team::key> threshold_of(Team& team, narrowing<Team>& narrow,
                                                            const typename Reader::tile& t,
                                                            position rank, position slack) {
  const auto groups = static_cast<int>(team.shape.groups);
  const position count = team.threads() * team.shape.groups;
  if (rank > count) return {static_cast<typename Team::key>(~typename Team::key{0}), false};
  const auto least = minima_of<most, Reader>(team, t);
  const auto minimum = [&](int g) { return element<typename Reader::stored>::key_of(least.x[g]); };
  const auto found = [&] {
    if constexpr (Team::quarters) {
      return threshold_of_lanes<most>(narrow, groups, count, rank, slack, minimum);
    } else {
      return threshold(narrow, count, rank, slack, [&](const auto& f) {
        KSELECT_UNROLL
        for (int g = 0; g < most; ++g) {
          if (g < groups) f(minimum(g));
        }
      });
    }
  }();
  constexpr bool alone = Reader::items == most;  // one element a group: a -NaN goes unseen
  return {found.bound, found.no_nans && !alone};
}

}  // namespace kselect::bms
