#pragma once
// Buffered multi-select: where a row's threshold comes from.
//
// The r-th smallest of the minima of disjoint groups is no less than the r-th smallest element: r
// groups hold at least one element each that is not above it. (This is the first level of the
// hierarchical partition of Tang et al. 2015, used as a threshold.) It costs one min an element,
// and about as many elements as groups pass it. With r = k on all of a row it is a guarantee; on a
// tile of a longer row r is chosen so that it almost surely is one (shape.hpp).
//
// A group is some components of all of a thread's loads, so that neighbours in memory fall into
// different groups: in a sorted row the smallest are neighbours. A group with a NaN counts as the
// worst, which keeps the guarantee.

#include "algorithms/buffered_multi_select/narrowing.cuh"
#include "algorithms/buffered_multi_select/row.cuh"

namespace kselect::bms {

// The minima of the caller's groups of a tile: x[0] to x[plan.groups - 1].
template <class Reader>
struct group_minima {
  static constexpr int most = Reader::width;
  typename Reader::value x[most];
};

template <class Reader, class Team>
KSELECT_HD group_minima<Reader> minima_of(Team& team, const typename Reader::tile& t) {
  constexpr int most = group_minima<Reader>::most;
  group_minima<Reader> least;
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

// A key such that `rank` to rank + slack of `count` minima are not above it, or more where minima
// are equal. `visit(f)` calls f(key) for the caller's share. After a sync.
template <class Team, class Source>
KSELECT_HD typename Team::key threshold(narrowing<Team>& narrow, position count, position rank,
                                        position slack, const Source& visit) {
  using key = typename Team::key;
  auto low = static_cast<key>(~key{0});
  key high = 0;
  visit([&](key k) {
    if (k < low) low = k;
    if (k > high) high = k;
  });
  return narrow.to_rank(narrow.extremes(low, high, count), rank, slack, 0, visit).high;
}

// The same, of the groups of the team's first tile; the worst key if there are too few.
template <class Reader, class Team>
KSELECT_HD typename Team::key threshold_of(Team& team, narrowing<Team>& narrow,
                                           const typename Reader::tile& t, position rank,
                                           position slack) {
  const auto groups = static_cast<int>(team.shape.groups);
  const position count = team.threads() * team.shape.groups;
  if (rank > count) return static_cast<typename Team::key>(~typename Team::key{0});
  const auto least = minima_of<Reader>(team, t);
  return threshold(narrow, count, rank, slack, [&](const auto& f) {
    KSELECT_UNROLL
    for (int g = 0; g < group_minima<Reader>::most; ++g) {
      if (g < groups) f(element<typename Reader::stored>::key_of(least.x[g]));
    }
  });
}

}  // namespace kselect::bms
