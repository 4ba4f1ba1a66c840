#pragma once
// Device code: a query's survivors in shared memory, and which of them are near for certain.
//
// Scores order survivors nearly as their distances do. So only those with the best scores are
// measured in float64 at first, a few more than k. The k-th distance among them shows which others
// could be as near (finish.cuh). The best are found by a histogram of scores; that it is coarse
// only means that some more are measured.

#include <cmath>
#include <limits>

#include "kselect/order.hpp"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

inline constexpr int score_bins = 256;

// Of the block, in shared memory.
struct gathered {
  std::uint32_t count;     // of survivors
  std::uint32_t measured;  // of them
  std::uint32_t lost;      // 1: a list ran over
  std::uint32_t best;      // order key of the best score
  std::uint32_t last_bin;  // of the survivors that are measured first
  std::uint32_t ranks;     // their sum (order_survivors)
  std::uint32_t bins[score_bins];

  template <class Simt>
  KSELECT_HD void clear(Simt& simt) {
    if (simt.thread() == 0) count = measured = lost = best = 0;
    for (int b = simt.thread(); b < score_bins; b += simt.threads()) bins[b] = 0;
  }
};

// Room for the survivors of one query, in shared memory.
struct scored_list {
  std::uint32_t* positions;
  float* scores;
  std::uint32_t room;
};

// Where a warp's lanes with `wanted` append to a list in shared memory, in no particular order.
template <class Simt>
KSELECT_HD std::uint32_t place_to_append(Simt& simt, std::uint32_t& count, bool wanted) {
  const std::uint32_t those = simt.ballot(simt::full_mask, wanted);
  std::uint32_t place = 0;
  if (simt.lane() == 0 && those != 0) {
    place = simt.atomic_add(count, static_cast<std::uint32_t>(simt.popc(those)));
  }
  return simt.shfl(simt::full_mask, place, 0) +
         static_cast<std::uint32_t>(simt.popc(those & simt.lanemask_lt()));
}

// Appends what a row's segments hold with a score beyond the threshold. A warp loads the counts of
// 32 segments at once, and takes some of them; a list of one segment is divided among the warps.
template <class Simt>
KSELECT_HD void collect(Simt& simt, gathered& shared, const survivor_lists& from, std::int64_t row,
                        float threshold, const scored_list& to) {
  for (int base = 0; base < from.splits; base += simt::warp_size) {
    const int own = base + simt.lane();
    const std::uint32_t counted =
        own < from.splits ? simt.load(from.counts, row * from.splits + own) : 0;
    const int here =
        from.splits - base < simt::warp_size ? from.splits - base : int{simt::warp_size};
    const bool divided = from.splits == 1;
    const auto begin = static_cast<std::uint32_t>(divided ? simt.warp() * simt::warp_size : 0);
    const auto step =
        static_cast<std::uint32_t>(divided ? simt.warps() * simt::warp_size : simt::warp_size);
    for (int s = divided ? 0 : simt.warp(); s < here; s += simt.warps()) {
      const std::uint32_t all = simt.shfl(simt::full_mask, counted, s);
      const auto room = static_cast<std::uint32_t>(from.room);
      if (all > room && simt.lane() == 0) simt.atomic_max(shared.lost, 1);
      const std::uint32_t kept = all < room ? all : room;
      for (std::uint32_t first = begin; first < kept; first += step) {
        const std::uint32_t i = first + static_cast<std::uint32_t>(simt.lane());
        const std::int64_t at = (row * from.splits + base + s) * from.room + i;
        const float score =
            i < kept ? simt.load(from.scores, at) : -std::numeric_limits<float>::infinity();
        const bool wanted = i < kept && score > threshold;
        const std::uint32_t place = place_to_append(simt, shared.count, wanted);
        if (!wanted) continue;
        if (place >= to.room) {
          simt.atomic_max(shared.lost, 1);
          continue;
        }
        to.positions[place] = simt.load(from.positions, at);
        to.scores[place] = score;
      }
    }
  }
}

// The survivors that are measured first: all whose score is in one of the best bins.
struct best_scores {
  float top = 0;
  float bins_of_unit = 0;  // 0: all survivors
  std::uint32_t last = 0;

  KSELECT_HD std::uint32_t bin(float score) const {
    const float at = (top - score) * bins_of_unit;
    if (!(at > 0)) return 0;
    return at < score_bins - 1 ? static_cast<std::uint32_t>(at) : score_bins - 1;
  }
  KSELECT_HD bool all() const { return bins_of_unit == 0; }
  KSELECT_HD bool has(float score) const { return all() || bin(score) <= last; }
};

// The bin up to which there are `wanted` survivors. One warp calls it. (racecheck warns of
// last_bin: the compiler loads it beside the first bins, and nobody uses what it loads.)
template <class Simt>
KSELECT_HD void find_last_bin(Simt& simt, gathered& shared, std::uint32_t wanted) {
  constexpr int own = score_bins / simt::warp_size;
  const int first = own * simt.lane();
  std::uint32_t sum = 0;
  for (int b = first; b < first + own; ++b) sum += shared.bins[b];
  std::uint32_t up_to = sum;
  for (int step = 1; step < simt::warp_size; step *= 2) {
    const std::uint32_t before = simt.shfl_up(simt::full_mask, up_to, step);
    if (simt.lane() >= step) up_to += before;
  }
  std::uint32_t before = up_to - sum;
  if (before >= wanted || up_to < wanted) return;
  int bin = first;
  while (before + shared.bins[bin] < wanted) before += shared.bins[bin++];
  shared.last_bin = static_cast<std::uint32_t>(bin);
}

// At least `wanted` of `count` survivors, which all have scores beyond `threshold`; or all of them.
// `highest`: scores beyond it are not of near vectors, but raised (start_kernel). Every thread
// calls it and gets the same.
template <class Simt>
KSELECT_HD best_scores best_of(Simt& simt, gathered& shared, const scored_list& list,
                               std::uint32_t count, std::uint32_t wanted, float threshold,
                               float highest) {
  if (count <= wanted + wanted / 4) return {};
  const auto thread = static_cast<std::uint32_t>(simt.thread());
  const auto threads = static_cast<std::uint32_t>(simt.threads());
  std::uint32_t best = 0;
  for (std::uint32_t i = thread; i < count; i += threads) {
    const std::uint32_t key = order_key(list.scores[i]);
    best = key > best ? key : best;
  }
  best = simt.reduce_max(simt::full_mask, best);
  if (simt.lane() == 0) simt.atomic_max(shared.best, best);
  simt.sync_block();
  const float top = std::fmin(from_order_key<float>(shared.best), highest);
  const float width = top - threshold;
  if (!(width > 1e-30F && width <= std::numeric_limits<float>::max())) return {};
  best_scores chosen{top, static_cast<float>(score_bins) / width};
  for (std::uint32_t i = thread; i < count; i += threads) {
    simt.atomic_add(shared.bins[chosen.bin(list.scores[i])], 1);
  }
  simt.sync_block();
  if (simt.warp() == 0) find_last_bin(simt, shared, wanted);
  simt.sync_block();
  chosen.last = shared.last_bin;
  return chosen;
}

}  // namespace kselect::search::fused
