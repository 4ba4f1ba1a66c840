#pragma once
// Many short rows of 16-bit elements. A word of 32 bits holds an element's key and, below it, which
// element it is. So no two elements of a row have equal words, and a network that finds the k least
// has found the answer.

#include "algorithms/short_rows/network.cuh"
#include "algorithms/short_rows/shape.cuh"

namespace kselect::short_rows {

// team: lanes of a row. items: elements of a lane. list: at least k.
template <int team, int items, int list>
struct narrow_kernel {
  static constexpr int max_threads = warps_of_block * simt::warp_size;
  static constexpr int min_blocks = items <= 32 ? 10 : 6;  // by registers
  static constexpr int listed = list;
  using share = share_of_row<float16, team, items>;
  using args = kernel_args<float16>;
  struct storage {};

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const share own = share::of(simt, a.matrix.rows);
    std::uint32_t least[list];
    least_of_lane(simt, a, own, least);
    KSELECT_UNROLL for (int i = 0; i < list; ++i) least[i] |= own.place(0);
    keep_least_of_team<team>(simt, a.by, least);
    write_half(simt, a, own, least);
  }

 private:
  // A word: the key, then the place. What no element fills has all bits set.
  static constexpr int key_at = 16;
  static constexpr std::uint32_t key_mask = ~std::uint32_t{0} << key_at;
  static_assert(team * items <= 1 << (key_at - 1), "no place has all bits set");

  // Both halves of a team have the same words, in opposite orders. So the first `list / 2` of one
  // half's are not the other's. Lanes of a half divide them.
  template <class Simt>
  KSELECT_HD static void write_half(Simt& simt, const args& a, const share& own,
                                    std::uint32_t (&least)[list]) {
    constexpr position lanes = team / 2;
    constexpr int each = list / 2 > team / 2 ? list / team : 1;
    const bool upper = own.lane >= lanes;
    if (a.matrix.k < list) {  // only an ordered list can be cut at k
      sort_bitonic<list / 2>(a.by, least);
      KSELECT_UNROLL for (int i = 0; i < list / 2; ++i) {
        if (upper) least[i] = least[list / 2 + i];
      }
    }
    const position first = own.lane % lanes * each;
    if (!own.writes || first >= list / 2) return;
    std::uint16_t keys[each];
    position places[each];
    KSELECT_UNROLL for (position j = 0; j < each; ++j) {
      std::uint32_t mine = least[j];
      KSELECT_UNROLL for (position i = j + each; i < list / 2; i += each) {
        if (first + j == i) mine = least[i];
      }
      keys[j] = static_cast<std::uint16_t>(mine >> key_at);
      places[j] = mine & ~key_mask;
    }
    write_run<each>(simt, a, own.row, (upper ? list / 2 : 0) + first, keys, places);
  }

  // The lane's least, in ascending order: runs of `list` are sorted, and merged one by one.
  template <class Simt>
  KSELECT_HD static void least_of_lane(Simt& simt, const args& a, const share& own,
                                       std::uint32_t (&least)[list]) {
    typename share::registers pairs;
    own.load(simt, a, pairs);
    const std::uint32_t always = a.matrix.wanted == direction::smallest ? 0x80008000U : 0x7fff7fffU;
    std::uint32_t words[items];
    KSELECT_UNROLL for (int i = 0; i < items; i += 2) {
      const std::uint32_t both = keys_of(pairs[i / 2], always);
      words[i] = both << key_at | share::place(i, 0);
      words[i + 1] = (both & key_mask) | share::place(i + 1, 0);
    }
    own.each_missing(a.matrix.n, [&](int i) { words[i] = ~std::uint32_t{0}; });
    KSELECT_UNROLL for (int first = 0; first < items; first += list) {
      std::uint32_t run[list];
      KSELECT_UNROLL for (int i = 0; i < list; ++i) run[i] = words[first + i];
      sort(a.by, run);
      if (first == 0) {
        KSELECT_UNROLL for (int i = 0; i < list; ++i) least[i] = run[i];
      } else {
        keep_least(least, [&](int i) { return run[list - 1 - i]; });
        sort_bitonic<list / 2>(a.by, least);
      }
    }
  }

  // The selection keys of two elements (order.hpp): a negative one has its other bits flipped, then
  // each its first bit, or all but this if the largest are wanted. The product is free: it takes
  // another pipe than the network.
  KSELECT_HD static std::uint32_t keys_of(std::uint32_t pair, std::uint32_t always) {
    const std::uint32_t negative = pair >> 15 & 0x00010001U;
    return pair ^ (negative * 0x7fffU) ^ always;
  }
};

}  // namespace kselect::short_rows
