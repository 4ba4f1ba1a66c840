#pragma once
// Buffered multi-select: the numbers of a launch, from the problem alone. Host code.

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "algorithms/buffered_multi_select/team.cuh"

namespace kselect::bms {

// What a block may have of dynamic shared memory beside the `own` bytes that its kernel declares:
// no more than lets several blocks fit on a multiprocessor.
inline std::size_t dynamic_shared(const device& where, std::size_t own) {
  constexpr std::size_t most = 96 << 10;
  const std::size_t all = where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes;
  return std::min(all - std::min(all, own), most);
}

// How a row is read: by how many threads, in how many 16-byte loads a thread and tile, of which the
// minima of so many groups are taken at most (0: few_groups).
struct reading {
  int threads;
  int loads;
  int groups = 0;
};

// Of a thread in a tile: at most 32 elements, a bit each.
template <class T>
inline constexpr int most_loads = sizeof(T) == 2 ? 4 : 8;
template <class T>
inline constexpr std::int64_t held_by_thread = most_loads<T> * 16 / sizeof(T);

// Whether k is so large a part of n that rows are better worked on in registers whole. (A threshold
// then lets through half as much again, which is to be written, read and narrowed.)
inline bool dense(const problem& p) { return 16 * p.k >= p.n; }

// Threads for a row a block. Few finish a row in less time all told, as fewer wait for each other;
// many hold more of it at once, and more of them are left if rows are few. With no more rows than
// multiprocessors, each takes all that it has registers for.
template <class T>
int threads_for(const problem& p, const device& where) {
  if (p.q <= where.multiprocessors && p.n > 1 << 16) return 1024;
  if (p.q < where.multiprocessors * 2 || (p.k >= 2048 && p.n > 16384)) return 512;
  // An eighth of the row or more is wanted, and fewer threads would not hold the row.
  constexpr std::int64_t held = held_by_thread<T>;
  if (8 * p.k >= p.n && p.n > 256 * held && p.n <= 512 * held) return 512;
  if (p.n > 16384 || (dense(p) && p.n > 4096)) return 256;
  return 128;
}

// About as many threads, so that of their registers as few as may be stay empty: a row of 5000 in
// two tiles of 128 threads costs as much as one of 8192. Not of a multiprocessor's only block.
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

// Of the k smallest elements of a row in random order, about `expected` fall into a tile. The least
// r such that r or more do so at no more than the given risk (the tail of a Poisson distribution):
// then the r-th smallest of the tile is not below the row's k-th smallest, else the row is read
// again.
struct risk {
  double probability;
  double deviations;  // the same for a normal distribution
};
inline constexpr risk of_one_among_many{2e-4, 3.6};
inline constexpr risk of_all{2e-6, 4.75};  // one row's delay is everyone's

inline position safe_rank(double expected, position k, const risk& taken = of_all) {
  double term = std::exp(-expected);
  if (term == 0) {  // a normal distribution by now
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

// Of `groups` groups, into each of which `expected` of the k smallest fall: the least r such that r
// or more groups have one at no more than the given risk. Then the r-th smallest of the groups'
// minima is not below what the groups have of the k smallest.
inline position safe_rank_of_groups(int groups, double expected, double probability) {
  const double none = std::exp(-expected);
  double term = std::pow(none, groups), at_most = 0;
  position r = 0;
  while (r < static_cast<position>(groups) && 1 - at_most > probability) {
    at_most += term;
    term *= (groups - r) / (r + 1.0) * (1 - none) / none;
    ++r;
  }
  return r;
}

// Counting bins for a team, as a power of two.
inline int bin_bits_for(int threads) {
  return std::bit_width(static_cast<unsigned>(threads * bins_each)) - 1;
}

// How much of a row is shared out: among `parts` teams, `lanes` of which join their groups.
struct sharing {
  position parts = 1;
  position lanes = 1;
};

// With what the host chooses the form by. (A number more in a kernel's arguments once cost a
// register in the stream, and 7 % of the time.)
struct filtering : plan {
  position survivors;  // that are expected of a row
};

// The rank of the threshold may be at most such a share of the group minima. A higher rank takes
// more groups, each with a minimum to keep: a warp, which waits for each step, keeps more of them
// than a block of few groups.
constexpr double most_passing_in_warp = 0.35, most_passing_of_many = 0.45,
                 most_passing_of_few = 0.6;
// Where even the most groups leave a higher share, the threshold holds too little back for a pass
// of its own.
constexpr double most_passing_at_all = 0.75;
// The list has room for so many times the survivors that are expected, and a few more.
constexpr double spare_room = 1.6;
constexpr double spare_places = 64;
// Positions have 32 bits.
constexpr double largest_position = 4e9;

// A plan for rows of n elements filtered by a threshold; none if k is so large that it would hold
// too little back, or takes more than `most_bytes` of shared memory.
template <class T, bool indexed>
std::optional<filtering> filtering_plan(std::int64_t n, std::int64_t k, const reading& how,
                                        std::size_t most_bytes, const sharing& shared = {}) {
  constexpr int width = 16 / sizeof(T);
  const std::int64_t readers = std::int64_t{how.threads} * shared.parts;
  const std::int64_t tile = readers * how.loads * width;
  filtering p{};
  p.tiles = static_cast<position>(std::max<std::int64_t>(1, (n + tile - 1) / tile));
  const double in_tile = static_cast<double>(n) / p.tiles;
  const auto wanted = static_cast<position>(k);
  p.rank = p.tiles == 1 ? wanted
                        : safe_rank(static_cast<double>(k) / p.tiles, wanted,
                                    shared.parts > 1 ? of_all : of_one_among_many);
  const bool one_warp = how.threads == simt::warp_size;
  const bool many = how.groups != 0;
  // Of many, what passes is to be little more than has to; of few, a step of narrowing costs more.
  p.slack = p.rank / (many ? 32 : 8) + 1;
  // Threads that hold elements; a tile may be partly empty. Unaligned rows have one vector less.
  const double holding =
      std::min(static_cast<double>(readers), std::max(1.0, in_tile / width - 1)) / shared.lanes;
  p.groups = 1;
  const double most_passing = one_warp ? most_passing_in_warp
                              : many   ? most_passing_of_many
                                       : most_passing_of_few;
  const auto most = static_cast<position>(many ? how.groups : few_groups<T>);
  while (p.groups < most && p.rank + p.slack > most_passing * holding * p.groups) p.groups *= 2;
  const double minima = holding * p.groups;
  if (p.rank + p.slack > most_passing_at_all * minima) return {};
  // What passes: a group's minimum does with this probability, and so an element with that one.
  const double passing = (p.rank + p.slack) / minima;
  const double survivors =
      static_cast<double>(n) * (1 - std::pow(1 - passing, minima / std::max(in_tile, minima)));
  p.survivors = static_cast<position>(std::min(survivors, largest_position));
  p.kept_most = wanted + wanted / 8 + 1;
  const double room = std::max(spare_room * survivors / shared.parts + spare_places,
                               p.kept_most + std::max(spare_places, wanted / 2.0));
  p.capacity = static_cast<position>(std::min(room, largest_position)) / 32 * 32 + 32;
  // Sorted rows let several times as many through: in them a sample is not one of single elements.
  if (!one_warp) {
    p.capacity = std::max(p.capacity, static_cast<position>(4 * how.threads));
  }
  if (shared.parts > 1) {  // one of the teams will hold what survives of all
    constexpr double most_together = 4096;
    const auto together =
        static_cast<position>(std::min(spare_room * survivors + spare_places, most_together));
    p.capacity = std::max(p.capacity, together / 32 * 32 + 32);
  }
  p.bin_bits = one_warp ? 0 : bin_bits_for(how.threads);  // a warp does without
  if (team_memory<T, indexed>::bytes(p, how.threads) > most_bytes) return {};
  return p;
}

// A plan for rows that stay in registers whole; none if they or the answer do not fit.
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
