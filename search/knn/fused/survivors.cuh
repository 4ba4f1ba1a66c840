#pragma once
// Device code: a query's survivors in shared memory, and which of them are near for certain.
//
// Scores order survivors nearly as their distances do. So only those with the best scores are
// measured in float64 at first, a few more than k. The k-th distance among them shows which others
// could be as near (finish.cuh). The best are found by a histogram of scores; that it is coarse
// only means that some more are measured.

#include <cmath>
#include <limits>

#include "kernels/warp_sums.cuh"
#include "kselect/order.hpp"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

inline constexpr int score_bins = 256;

// Of the block, in shared memory.
struct gathered {
  std::uint32_t count;                         // of survivors
  std::uint32_t measured;                      // of them
  std::uint32_t lost;                          // 1: a list ran over
  std::uint32_t best;                          // order key of the best score
  std::uint32_t last_bin;                      // of the survivors that are measured first
  std::uint32_t ranks;                         // their sum (order_survivors)
  alignas(16) std::uint32_t bins[score_bins];  // of scores; later upper halves of keys

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

// How many survivors a lane's segment has: found, in the list, and in the list together with those
// of the segments of lower lanes.
struct segments {
  std::uint32_t counted = 0, kept = 0, up_to = 0;

  // The segment of survivor i of all: so many segments end before it.
  template <class Simt>
  KSELECT_HD int of(Simt& simt, std::uint32_t i) const {
    int segment = 0;
    for (int step = simt::warp_size / 2; step > 0; step /= 2) {
      const std::uint32_t end = simt.shfl(simt::full_mask, up_to, segment + step - 1);
      if (end <= i) segment += step;
    }
    return segment;
  }
};
template <class Simt>
KSELECT_HD segments segments_at(Simt& simt, const survivor_lists& from, std::int64_t row,
                                int first) {
  const int own = first + simt.lane();
  const auto room = static_cast<std::uint32_t>(from.room);
  segments all;
  if (own < from.splits) all.counted = simt.load(from.counts, row * from.splits + own);
  all.kept = all.counted < room ? all.counted : room;
  all.up_to = kernels::sum_up_to_lane(simt, all.kept);
  return all;
}

// Appends what a row's segments hold with a score beyond the threshold. Every warp counts the
// survivors of 32 segments; the warps divide these survivors as if they were one list.
template <class Simt>
KSELECT_HD void collect(Simt& simt, gathered& shared, const survivor_lists& from, std::int64_t row,
                        float threshold, const scored_list& to) {
  const auto room = static_cast<std::uint32_t>(from.room);
  for (int base = 0; base < from.splits; base += simt::warp_size) {
    const segments own = segments_at(simt, from, row, base);
    if (own.kept < own.counted) simt.atomic_max(shared.lost, 1);
    const std::uint32_t all = simt.shfl(simt::full_mask, own.up_to, simt::warp_size - 1);
    for (auto first = static_cast<std::uint32_t>(simt.warp() * simt::warp_size); first < all;
         first += static_cast<std::uint32_t>(simt.threads())) {
      const std::uint32_t i = first + static_cast<std::uint32_t>(simt.lane());
      const int segment = own.of(simt, i);
      const std::uint32_t before = simt.shfl(simt::full_mask, own.up_to - own.kept, segment);
      float score = -std::numeric_limits<float>::infinity();
      std::uint32_t position = 0;
      if (i < all) {
        const std::int64_t at = (row * from.splits + base + segment) * room + (i - before);
        score = simt.load(from.scores, at);
        position = simt.load(from.positions, at);
      }
      const bool wanted = score > threshold;
      const std::uint32_t place = place_to_append(simt, shared.count, wanted);
      if (!wanted) continue;
      if (place >= to.room) {
        simt.atomic_max(shared.lost, 1);
        continue;
      }
      to.positions[place] = position;
      to.scores[place] = score;
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
  const std::uint32_t up_to = kernels::sum_up_to_lane(simt, sum);
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
