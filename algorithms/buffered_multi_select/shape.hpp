#pragma once
// Buffered multi-select: the numbers of a launch, from the problem alone. Host code.

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "algorithms/buffered_multi_select/steps/team.cuh"
#include "kselect/simt/device_size.hpp"

namespace kselect::bms {

// The most dynamic shared memory that a block may use, beside the `own` static bytes of its kernel.
// The limit lets several blocks fit on a multiprocessor.
inline std::size_t dynamic_shared(const device& where, std::size_t own) {
  constexpr std::size_t most = 96 << 10;
  const std::size_t all = where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes;
  return std::min(all - std::min(all, own), most);
}

// Blocks that keep the device busy.
inline std::int64_t filling(int threads, const device& where) {
  return std::int64_t{where.multiprocessors} * simt::busy_threads(where) / threads;
}

// How a row is read.
struct reading {
  int threads;
  int loads;       // 16-byte loads of a thread in a tile
  int groups = 0;  // the most groups of a thread; 0: few_groups
};

// The most loads of a thread in a tile: an item_set has a bit for each of at most 32 elements.
template <class T>
inline constexpr int most_loads = sizeof(T) < 4 ? 2 * static_cast<int>(sizeof(T)) : 8;
template <class T>
inline constexpr std::int64_t held_by_thread = most_loads<T> * 16 / sizeof(T);

// Whether k is so large a part of n that it is faster to hold the whole row in registers. (A
// threshold would admit about 1.5 k elements, which must be written, read and narrowed.)
inline bool dense(const problem& p) { return 16 * p.k >= p.n; }

// Threads of a block that selects from one row. In small blocks fewer threads wait for each other.
// Large blocks hold more of a row at once, and leave less of the device idle if rows are few. If
// long rows are no more than multiprocessors, a block takes all registers of its multiprocessor.
// The record results/nvidia-h200/goal_many_rows has the times of each count at each shape; the
// limits lie between the shapes where another count became the fastest.
template <class T>
int threads_for(const problem& p, const device& where) {
  constexpr std::int64_t very_long = 1 << 16, lengthy = 16384, middling = 4096;  // rows
  constexpr std::int64_t large_k = 2048;
  if (p.q <= where.multiprocessors && p.n > very_long) return 1024;
  if (p.q < where.multiprocessors * 2 || (p.k >= large_k && p.n > lengthy)) return 512;
  // An eighth of the row or more is wanted, and fewer threads would not hold the row.
  constexpr std::int64_t held = held_by_thread<T>;
  if (8 * p.k >= p.n && p.n > 256 * held && p.n <= 512 * held) return 512;
  if (p.n > lengthy || (dense(p) && p.n > middling)) return 256;
  return 128;
}

// Adjusts a thread count so that tiles leave few registers empty: in two tiles of 128 threads a row
// of 5000 costs as much as one of 8192. A multiprocessor's only block stays as it is.
template <class T>
int fitted(int threads, std::int64_t n) {
  constexpr int least = 2 * simt::warp_size, alone = 1024;
  if (threads == alone) return threads;
  const auto ceiling = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t tiles = ceiling(n, threads * held_by_thread<T>);
  const auto for_tiles = [&](std::int64_t count) {
    const std::int64_t warps = ceiling(n, count * held_by_thread<T> * simt::warp_size);
    return std::max(static_cast<int>(warps) * simt::warp_size, least);
  };
  const int fewer = for_tiles(tiles);
  if (tiles == 1) return fewer;
  const int more = for_tiles(tiles - 1);
  const bool better = more * (tiles - 1) < fewer * tiles;
  return better && 4 * more <= 5 * threads ? more : fewer;
}

// The accepted risk that a threshold is too low, so that the row is read again.
struct risk {
  double probability;
  double deviations;  // about the same, as a quantile of the standard normal distribution
};
inline constexpr risk of_one_among_many{2e-4, 3.6};
inline constexpr risk of_all{2e-6, 4.75};  // few rows: all wait for the slowest

// A safe rank for a tile's threshold, if rows are in random order. X, the number of the row's k
// smallest elements in the tile, is about Poisson with mean `expected`. Returns the least r with
// P(X >= r) within the risk. If X < r, the tile's r-th smallest is not below the row's k-th.
inline position safe_rank(double expected, position k, const risk& taken = of_all) {
  double term = std::exp(-expected);
  if (term == 0) {  // underflow: the distribution is about normal
    const double r = expected + taken.deviations * std::sqrt(expected) + 4;
    return static_cast<position>(std::min(r, static_cast<double>(k)));
  }
  double at_most = 0;
  position r = 0;
  while (r < k && 1 - at_most > taken.probability) {
    at_most += term;
    ++r;
    term *= expected / r;
  }
  return std::max<position>(r, 1);
}

// The same for group minima. Each group has about `expected` of the k smallest elements. Returns
// the least r such that r or more groups have one with at most this probability. If fewer groups
// do, the r-th smallest minimum is not below any of the k smallest elements in the groups. 0: there
// is no such r, as all groups have one too often.
inline position safe_rank_of_groups(int groups, double expected, double probability) {
  const double none = std::exp(-expected);
  double term = std::pow(none, groups), at_most = 0;
  position r = 0;
  while (r < static_cast<position>(groups) && 1 - at_most > probability) {
    at_most += term;
    term *= (groups - r) / (r + 1.0) * (1 - none) / none;
    ++r;
  }
  return 1 - at_most > probability ? 0 : r;
}

// log2 of a team's number of counting bins, rounded down.
inline int bin_bits_for(int threads) {
  return std::bit_width(static_cast<unsigned>(threads * bins_each)) - 1;
}

// How a row is shared among teams.
struct sharing {
  position parts = 1;  // teams
  position lanes = 1;  // threads that join their groups
};

// A plan, with a number that only the host needs: one more kernel argument once cost a register in
// the stream, and 7 % of the time.
struct filtering : plan {
  position survivors;  // expected of a row
};

// ---- a plan for rows filtered by a threshold, step by step

// The threshold's rank may be at most this share of the number of group minima; otherwise groups
// are doubled. More groups let fewer elements pass and have more minima to rank. A warp, which
// waits for each step, gains from more groups than a block of few groups does. (From trials that
// were not recorded, like the other constants here.)
constexpr double most_passing_in_warp = 0.35, most_passing_of_many = 0.45,
                 most_passing_of_few = 0.6;
// If the share is above this with the most groups, the threshold holds back too little for a pass.
constexpr double most_passing_at_all = 0.75;
// The list has room for spare_room times the expected survivors, and spare_places more.
constexpr double spare_room = 1.6;
constexpr double spare_places = 64;
// Positions have 32 bits.
constexpr double largest_position = 4e9;

// Chooses the threshold: the rank that is safe for one of the row's tiles, and the fewest groups
// that hold enough back. `holding`: threads that hold elements.
template <class T>
void choose_threshold(plan& p, std::int64_t k, double holding, const reading& how,
                      const sharing& shared) {
  const bool one_warp = how.threads == simt::warp_size;
  const bool many = how.groups != 0;
  const auto wanted = static_cast<position>(k);
  p.rank = p.tiles == 1 ? wanted
                        : safe_rank(static_cast<double>(k) / p.tiles, wanted,
                                    shared.parts > 1 ? of_all : of_one_among_many);
  // Less slack lets fewer elements pass but takes more steps of narrowing. It pays for many groups.
  p.slack = p.rank / (many ? 32 : 8) + 1;
  const double most_passing = one_warp ? most_passing_in_warp
                              : many   ? most_passing_of_many
                                       : most_passing_of_few;
  const auto most = static_cast<position>(many ? how.groups : few_groups<T>);
  p.groups = 1;
  while (p.groups < most && p.rank + p.slack > most_passing * holding * p.groups) p.groups *= 2;
}

// The elements expected to pass a threshold, of n in random order. `minima`: of the first tile,
// which has `in_tile` elements.
inline double survivors_of(const plan& p, std::int64_t n, double minima, double in_tile) {
  // The probability that a group's minimum passes. It implies that of one of the group's elements.
  const double passing = (p.rank + p.slack) / minima;
  return static_cast<double>(n) * (1 - std::pow(1 - passing, minima / std::max(in_tile, minima)));
}

// Sizes the list: room for the survivors of a part of the row, and for a cut to free some of it.
inline void size_list(plan& p, double survivors, std::int64_t k, const reading& how,
                      const sharing& shared) {
  const auto wanted = static_cast<position>(k);
  p.kept_most = wanted + wanted / 8 + 1;
  const double room = std::max(spare_room * survivors / shared.parts + spare_places,
                               p.kept_most + std::max(spare_places, wanted / 2.0));
  p.capacity = static_cast<position>(std::min(room, largest_position)) / 32 * 32 + 32;
  // Several times as many pass in sorted rows, where the segments of a tile are no random sample.
  if (how.threads != simt::warp_size) {
    p.capacity = std::max(p.capacity, static_cast<position>(4 * how.threads));
  }
  if (shared.parts > 1) {  // the last team gathers the survivors of all
    constexpr double most_together = 4096;
    const auto together =
        static_cast<position>(std::min(spare_room * survivors + spare_places, most_together));
    p.capacity = std::max(p.capacity, together / 32 * 32 + 32);
  }
}

// A plan for rows of n elements filtered by a threshold. None if k is so large that the threshold
// would hold back too little, or that the team would need more than `most_bytes` of shared memory.
template <class T, bool indexed>
std::optional<filtering> filtering_plan(std::int64_t n, std::int64_t k, const reading& how,
                                        std::size_t most_bytes, const sharing& shared = {}) {
  constexpr int width = 16 / sizeof(T);
  const std::int64_t readers = std::int64_t{how.threads} * shared.parts;
  const std::int64_t tile = readers * how.loads * width;
  filtering p{};
  p.tiles = static_cast<position>(std::max<std::int64_t>(1, (n + tile - 1) / tile));
  const double in_tile = static_cast<double>(n) / p.tiles;
  // Threads that hold elements; a tile may be partly empty. Unaligned rows have one vector less.
  const double holding =
      std::min(static_cast<double>(readers), std::max(1.0, in_tile / width - 1)) / shared.lanes;
  choose_threshold<T>(p, k, holding, how, shared);
  const double minima = holding * p.groups;
  if (p.rank + p.slack > most_passing_at_all * minima) return {};
  const double survivors = survivors_of(p, n, minima, in_tile);
  p.survivors = static_cast<position>(std::min(survivors, largest_position));
  size_list(p, survivors, k, how, shared);
  const bool one_warp = how.threads == simt::warp_size;
  p.bin_bits = one_warp ? 0 : bin_bits_for(how.threads);  // a filtering warp uses no bins
  if (team_memory<T, indexed>::bytes(p, how.threads) > most_bytes) return {};
  return p;
}

// A plan for rows held whole in registers. None if the row or the answer does not fit.
template <class T, bool indexed>
std::optional<plan> resident_plan(std::int64_t n, std::int64_t k, const reading& how,
                                  std::size_t most_bytes) {
  constexpr int width = 16 / sizeof(T);
  if (n > std::int64_t{how.threads} * how.loads * width) return {};
  plan p{};
  p.tiles = 1;
  p.capacity = (static_cast<position>(k) + ranked_most) / 32 * 32 + 32;
  p.bin_bits = bin_bits_for(how.threads);
  if (team_memory<T, indexed>::bytes(p, how.threads) > most_bytes) return {};
  return p;
}

}  // namespace kselect::bms
