#pragma once
// Many short rows: networks on words in registers. They are small enough to be unrolled whole, so
// that each word stays in a register.

#include <cstdint>

#include "kselect/hd.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::short_rows {

KSELECT_HD constexpr std::uint32_t lesser(std::uint32_t a, std::uint32_t b) {
  return a < b ? a : b;
}

KSELECT_HD constexpr std::uint32_t greater(std::uint32_t a, std::uint32_t b) {
  return a < b ? b : a;
}

// Factors that the compiler does not know. On a GPU minima and maxima take the pipe of integers,
// which limits networks; a product and a sum take another pipe, if the product is not seen to be
// needless.
struct factors {
  std::uint32_t one = 1, minus_one = ~std::uint32_t{0};
};

// Puts two words in ascending order. The greater is the sum of both without the lesser.
KSELECT_HD constexpr void order(const factors& by, std::uint32_t& first, std::uint32_t& second) {
  const std::uint32_t least = lesser(first, second);
  const std::uint32_t both = first * by.one + second;
  second = least * by.minus_one + both;
  first = least;
}

// A step of Batcher's odd-even merges (1968), of runs of `run` words in pairs. Those that follow it
// compare words that are half as far apart.
template <int run, int apart, int size>
KSELECT_HD constexpr void merge_runs(const factors& by, std::uint32_t (&words)[size]) {
  KSELECT_UNROLL for (int i = apart % run; i + apart < size; ++i) {
    const bool first_of_pair = (i - apart % run) / apart % 2 == 0;
    const bool same_merge = i / (2 * run) == (i + apart) / (2 * run);
    if (first_of_pair && same_merge) order(by, words[i], words[i + apart]);
  }
  if constexpr (apart > 1) merge_runs<run, apart / 2>(by, words);
}

// Sorts by merging runs of 1, 2, 4 ... words. size is a power of two.
template <int run = 1, int size>
KSELECT_HD constexpr void sort(const factors& by, std::uint32_t (&words)[size]) {
  if constexpr (run < size) {
    merge_runs<run, run>(by, words);
    sort<2 * run>(by, words);
  }
}

// Sorts a bitonic sequence.
template <int apart, int size>
KSELECT_HD constexpr void sort_bitonic(const factors& by, std::uint32_t (&words)[size]) {
  KSELECT_UNROLL for (int i = 0; i < size; ++i) {
    if ((i & apart) == 0) order(by, words[i], words[i + apart]);
  }
  if constexpr (apart > 1) sort_bitonic<apart / 2>(by, words);
}

// Puts the `size` least of two lists into the first, as a bitonic sequence. Both are in ascending
// order; the second is given by its i-th last word. Word i of the first meets the i-th last of the
// second: what wins is among the least half of all.
template <int size, class FromLast>
KSELECT_HD void keep_least(std::uint32_t (&list)[size], const FromLast& from_last) {
  std::uint32_t others[size];
  KSELECT_UNROLL for (int i = 0; i < size; ++i) others[i] = from_last(i);
  KSELECT_UNROLL for (int i = 0; i < size; ++i) list[i] = lesser(list[i], others[i]);
}

// A team is `lanes` neighbouring lanes of a warp, a power of two. Makes the list of each lane,
// which is in ascending order, the least words of all of the team's, as a bitonic sequence.
template <int lanes, int size, class Simt>
KSELECT_HD void keep_least_of_team(Simt& simt, const factors& by, std::uint32_t (&list)[size]) {
  KSELECT_UNROLL for (int apart = 1; apart < lanes; apart *= 2) {
    if (apart > 1) sort_bitonic<size / 2>(by, list);
    keep_least(list,
               [&](int i) { return simt.shfl_xor(simt::full_mask, list[size - 1 - i], apart); });
  }
}

// The sum over the lanes of a team that precede the caller, and over all of them.
struct team_sum {
  std::uint32_t before, whole;
};
template <int lanes, class Simt>
KSELECT_HD team_sum sum_of_team(Simt& simt, std::uint32_t own) {
  team_sum sum{0, own};
  KSELECT_UNROLL for (int apart = 1; apart < lanes; apart *= 2) {
    const std::uint32_t other = simt.shfl_xor(simt::full_mask, sum.whole, apart);
    if ((simt.lane() & apart) != 0) sum.before += other;
    sum.whole += other;
  }
  return sum;
}

}  // namespace kselect::short_rows
