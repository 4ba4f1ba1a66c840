#pragma once
// Buffered multi-select: rows of lengths of their own, a row a block or a warp.
//
// A team reads a row's length, decides its tiles and its threshold's rank, and filters it as rows
// of equal length are filtered. What needs the host's arithmetic is a table: the rank by the number
// of tiles. A row for which a threshold would hold back too little admits every element to the
// list, which is cut where it is full. Rows of at most k elements are copied and filled.
//
// The hardware starts a block when another ends, so short rows give way to long ones at once.
// Outputs that are not wanted are not written: one instance serves values, indices and both.

#include "algorithms/buffered_multi_select/steps/filtered_row.cuh"
#include "algorithms/buffered_multi_select/warp/kernel.cuh"
#include "kernels/ragged_rows.cuh"

namespace kselect::bms {

using kernels::ragged_view;

// The threshold's ranks, by steps of the number of tiles: 1, 2, 3, 4, 6, 8, 12, 16, ... The rank of
// a step is that of its fewest tiles, so it is never too low for the others.
struct rank_steps {
  static constexpr int count = 2 * 31;
  std::uint16_t rank[count];
};

KSELECT_HD constexpr int step_of(position tiles) {
  if (tiles < 2) return 0;
  int log = 1;
  while (tiles >> (log + 1) != 0) ++log;
  return 2 * log - 1 + static_cast<int>(tiles >> (log - 1) & 1U);
}
// The fewest tiles of a step.
constexpr std::int64_t tiles_from(int step) {
  if (step == 0) return 1;
  const int log = (step + 1) / 2;
  return (std::int64_t{2} + (step + 1) % 2) << (log - 1);
}
static_assert(step_of(1) == 0 && step_of(2) == 1 && step_of(3) == 2 && step_of(7) == 4);
static_assert(tiles_from(1) == 2 && tiles_from(2) == 3 && tiles_from(3) == 4 && tiles_from(4) == 6);

template <class T>
struct ragged_args {
  ragged_view<T> matrix;
  answer_view<T> out;  // empty: not wanted
  plan shape;          // of the longest rows
  // The most that may pass of 100 minima before groups are doubled, the most groups of a thread,
  // and the slack of a rank is a part of it.
  position passing, groups, slack_part;
  rank_steps ranks;
};

// Of 100 minima; above it a threshold is not worth its steps (shape.hpp says the same).
inline constexpr position passing_at_all = 75;

// The plan of a row of `length` elements. The rank ~0 admits every element.
template <class T>
KSELECT_HD plan plan_of_row(const ragged_args<T>& a, position length, position threads,
                            position tile) {
  constexpr position width = 16 / sizeof(T);
  plan p = a.shape;
  p.tiles = (length - 1) / tile + 1;
  p.rank = a.ranks.rank[step_of(p.tiles)];
  p.slack = p.rank / a.slack_part + 1;
  // Threads that hold elements, as in filtering_plan().
  const position vectors = length / p.tiles / width;
  position holding = vectors > 2 ? vectors - 1 : 1;
  if (holding > threads) holding = threads;
  const std::uint64_t passing = std::uint64_t{100} * (p.rank + p.slack);
  p.groups = 1;
  while (p.groups < a.groups && passing > std::uint64_t{a.passing} * holding * p.groups) {
    p.groups *= 2;
  }
  if (passing > std::uint64_t{passing_at_all} * holding * p.groups) p.rank = ~position{0};
  return p;
}

// One block a row, or one warp. `many`: k is so large a part of n that several elements of each
// thread pass.
template <class T, bool one_warp, int loads, bool many>
struct ragged_kernel {
  static constexpr int teams = one_warp ? rows_per_block : 1;  // of a block
  static constexpr int max_threads = one_warp ? rows_per_block * simt::warp_size : 1024;
  struct storage {
    team_storage<key_of<T>> team[teams];
    plan shape[teams];
  };
  using args = ragged_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int number = one_warp ? simt.warp() : 0;
    auto* const own = static_cast<unsigned char*>(simt.dynamic_shared()) +
                      static_cast<std::size_t>(number) * team_memory<T, true>::bytes(a.shape);
    const auto memory = team_memory<T, true>::at(own, a.shape);
    using team_type = team<Simt, T, true, one_warp, one_warp, true>;
    team_type mine(simt, shared.team[number], memory, shared.shape[number]);
    const std::int64_t stride = std::int64_t{simt.blocks()} * teams;
    const std::int64_t first = std::int64_t{simt.block()} * teams + number;
    for (std::int64_t row = first; row < a.matrix.rows; row += stride) {
      const auto elements = kernels::row_at(simt, a.matrix, row);
      if (elements.size <= a.matrix.k) {
        kernels::write_whole_row(simt, a.matrix, a.out, row, elements, mine.thread(),
                                 mine.threads());
      } else {
        select(mine, shared.shape[number], a, elements, row);
      }
      mine.sync();  // the next row uses the same storage
    }
  }

 private:
  template <class Team>
  KSELECT_HD static void select(Team& mine, plan& shape, const args& a,
                                simt::global<const T> elements, std::int64_t row) {
    if (mine.thread() == 0) {
      const position threads = mine.threads();
      constexpr position held = static_cast<position>(loads) * 16 / sizeof(T);
      shape = plan_of_row(a, static_cast<position>(elements.size), threads, threads * held);
    }
    mine.sync();
    using reader = row_reader<Team, loads>;
    reader source(mine, elements, a.matrix.wanted, row);
    narrowing<Team> narrow(mine);
    answer<Team> out(mine, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
    filtered_row<reader, many>(mine, narrow, source, a.matrix.k).select(out);
  }
};

}  // namespace kselect::bms
