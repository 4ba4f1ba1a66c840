#pragma once
// The pairs of a graph of which each is multiplied once, and the lists that both of its vectors get
// hits in.
//
// Score (i, j) is also score (j, i) if sums begin with both starts (half.cuh), and may be a hit of
// either vector. Vectors lie in the order of their limits, so what is not beyond the bound of a row
// is none of both (half_order.cuh). A block multiplies one or two tiles of rows with the tiles of
// one part that are not before them. In the tile where rows meet themselves both scores of a pair
// are computed, so there rows alone get hits.
//
// A vector has one list, which many blocks write: hits of its row come from a block for each part,
// hits of its column from all earlier tiles. Its counter is in global memory, whose additions take
// long. So a block collects hits in shared memory and appends them when it ends. What finds no room
// there is appended at once.

#include <cmath>
#include <cstdint>

#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// The blocks of a pass over all pairs of `tiles` tiles. Part s has the columns from tile s * part
// on. Its blocks have the rows before its end, `together` tiles each, which divides `part`.
struct pair_blocks {
  std::int64_t tiles, part, together;

  // Of all parts before s. All of these are whole.
  KSELECT_HD constexpr std::int64_t before(std::int64_t s) const {
    return part / together * (s * (s + 1) / 2);
  }
  KSELECT_HD constexpr std::int64_t parts() const { return (tiles + part - 1) / part; }
  KSELECT_HD constexpr std::int64_t count() const {
    return before(parts() - 1) + (tiles + together - 1) / together;
  }
  // Of every `shares` blocks the one of that number.
  KSELECT_HD constexpr std::int64_t count_of(int share, int shares) const {
    return (count() - share + shares - 1) / shares;
  }
};

// The share of a block: rows from tile `row` on, columns of the tiles [first, last).
struct pair_share {
  int row, first, last;

  KSELECT_HD static pair_share of(const pair_blocks& all, std::int64_t block) {
    const double whole = static_cast<double>(all.part / all.together);
    auto s =
        static_cast<std::int64_t>((std::sqrt(8 * static_cast<double>(block) / whole + 1) - 1) / 2);
    while (all.before(s + 1) <= block) ++s;  // the root is rounded
    while (all.before(s) > block) --s;
    const std::int64_t row = (block - all.before(s)) * all.together, begin = s * all.part;
    const std::int64_t end = begin + all.part;
    return {static_cast<int>(row), static_cast<int>(begin > row ? begin : row),
            static_cast<int>(end < all.tiles ? end : all.tiles)};
  }
};

// Appends a vector to the list of another.
template <class Simt>
KSELECT_HD void append_hit(Simt& simt, const survivor_lists& lists, std::uint32_t to,
                           std::uint32_t from, float score) {
  const std::uint32_t place = simt.atomic_add(lists.counts, std::int64_t{to}, 1);
  if (place >= static_cast<std::uint32_t>(lists.room)) return;
  const std::int64_t at = std::int64_t{to} * lists.room + place;
  simt.store(lists.positions, at, from);
  simt.store(lists.scores, at, score);
}

// Hits of a block, in shared memory.
template <int room>
struct hit_buffer {
  std::uint32_t count;
  std::uint32_t to[room], from[room];
  float scores[room];

  template <class Simt>
  KSELECT_HD void add(Simt& simt, const survivor_lists& lists, std::uint32_t of, std::uint32_t hit,
                      float score) {
    const std::uint32_t place = simt.atomic_add(count, 1);
    if (place >= std::uint32_t{room}) return append_hit(simt, lists, of, hit, score);
    to[place] = of;
    from[place] = hit;
    scores[place] = score;
  }
  // By `threads` threads, after a barrier of theirs.
  template <class Simt>
  KSELECT_HD void flush(Simt& simt, const survivor_lists& lists, int thread, int threads) const {
    const int kept = count < std::uint32_t{room} ? static_cast<int>(count) : room;
    for (int i = thread; i < kept; i += threads) {
      append_hit(simt, lists, to[i], from[i], scores[i]);
    }
  }
};

}  // namespace kselect::search::fused
