#pragma once
// Buffered multi-select: rows of lengths of their own, a row a block or a warp.
//
// A team reads a row's length, decides its tiles and its threshold's rank, and filters it as rows
// of equal length are filtered. What needs the host's arithmetic is a table: the rank by the number
// of tiles. A row for which a threshold would hold back too little admits every element to the
// list, which is cut where it is full. Rows of at most k elements are copied and filled.
//
// The hardware starts a block when another ends, so short rows give way to long ones at once.
// Long rows may be cut into pieces, which are rows to the same kernel (cut_rows.cuh).
// Outputs that are not wanted are not written: one instance serves values, indices and both.

#include "algorithms/buffered_multi_select/block/cut_rows.cuh"
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
  cut_lists<T> cut;
};

// What a team works on: a row, a piece of one, or the candidates of a row that was cut.
enum class source : std::uint8_t { nothing, row, piece, candidates };
struct team_task {
  source from;
  position k;          // elements wanted
  std::int64_t first;  // its first output, or a piece's first candidate
  position cut;        // of candidates: the row's number among those that are cut
  position elements;   // that there are
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

// A team with a task of its own. The task lies in shared memory, because a register for each of its
// numbers is too much.
template <class Simt, class T, bool one_warp>
class ragged_team : public team<Simt, T, true, one_warp, one_warp, true> {
 public:
  using base = team<Simt, T, true, one_warp, one_warp, true>;

  KSELECT_HD ragged_team(Simt& on, team_storage<key_of<T>>& storage,
                         const team_memory<T, true>& own, const plan& numbers,
                         const ragged_args<T>& a, const team_task& task)
      : base(on, storage, own, numbers), a_(a), task_(task) {}

  // Where the answer goes.
  KSELECT_HD answer_view<T> outputs() {
    const bool of_piece = task_.from == source::piece;
    return kernels::outputs_at(this->simt, of_piece ? a_.cut.candidates : a_.out, task_.first,
                               task_.k);
  }

 private:
  const ragged_args<T>& a_;
  const team_task& task_;
};

// One block a row, or one warp. `many`: k is so large a part of n that several elements of each
// thread pass.
template <class T, bool one_warp, int loads, bool many>
struct ragged_kernel {
  static constexpr int most_teams = one_warp ? 8 : 1;  // of a block
  static constexpr int max_threads = one_warp ? most_teams * simt::warp_size : 1024;
  // Of warps: 24 on a multiprocessor, with 80 registers each.
  static constexpr int min_blocks = one_warp ? 24 / most_teams : 1;
  struct storage {
    team_storage<key_of<T>> team[most_teams];
    plan shape[most_teams];
    team_task task[most_teams];
    cut_storage lists;
    row_piece pieces[2];  // of the block's share
  };
  using args = ragged_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (a.cut.shares != 0 && !prepare(simt, shared, a)) return;
    const int number = one_warp ? simt.warp() : 0;
    auto* const own = static_cast<unsigned char*>(simt.dynamic_shared()) +
                      static_cast<std::size_t>(number) * team_memory<T, true>::bytes(a.shape);
    const auto memory = team_memory<T, true>::at(own, a.shape);
    using team_type = ragged_team<Simt, T, one_warp>;
    team_type mine(simt, shared.team[number], memory, shared.shape[number], a, shared.task[number]);
    const std::int64_t tasks = tasks_of(simt, a);
    for (std::int64_t i = first_task(simt, a, number); i < tasks;
         i = next_task(simt, a, i, tasks)) {
      team_task task{};
      const auto elements = task_at(simt, shared, a, i, task);
      if (task.from == source::nothing) continue;
      task.elements = static_cast<position>(elements.size);
      if (mine.thread() == 0) shared.task[number] = task;
      if (task.k != 0 && elements.size <= task.k) {
        kernels::write_elements(simt, elements, outputs_of(simt, a, task), mine.thread(),
                                mine.threads());
      } else if (task.k != 0) {
        select(mine, shared.shape[number], a, elements, task.k, i);
      }
      mine.sync();
      finish(mine, a, shared.task[number]);
      mine.sync();  // the next row uses the same storage
    }
  }

 private:
  // Whether tasks 2 s and 2 s + 1 are the pieces of share s, and block s takes them.
  KSELECT_HD static bool takes_shares(const args& a) {
    return !one_warp && a.cut.shares != 0 && !a.cut.last_launch;
  }

  // Returns whether the block has tasks. In the first launch block 0 has none: it lists the long
  // rows. The blocks of later launches wait for the list.
  template <class Simt>
  KSELECT_HD static bool prepare(Simt& simt, storage& shared, const args& a) {
    if constexpr (one_warp) {
      if (simt.block() != 0) return true;
      cutting<Simt, 4>(simt, shared.lists, a.matrix, a.cut).run();
      return false;
    } else {
      simt.wait_for_previous();
      if (takes_shares(a)) find_pieces(simt, a.cut, shared.pieces);
      return true;
    }
  }

  KSELECT_HD static int listing_blocks(const args& a) { return a.cut.shares != 0 ? 1 : 0; }

  template <class Simt>
  KSELECT_HD static std::int64_t first_task(Simt& simt, const args& a, int number) {
    const std::int64_t block = simt.block();
    if constexpr (one_warp) return (block - listing_blocks(a)) * simt.warps() + number;
    return takes_shares(a) ? 2 * block : block;
  }
  template <class Simt>
  KSELECT_HD static std::int64_t next_task(Simt& simt, const args& a, std::int64_t task,
                                           std::int64_t end) {
    if constexpr (one_warp) {
      return task + (std::int64_t{simt.blocks()} - listing_blocks(a)) * simt.warps();
    }
    if (!takes_shares(a)) return task + simt.blocks();
    return task % 2 == 0 ? task + 1 : end;
  }

  template <class Simt>
  KSELECT_HD static std::int64_t tasks_of(Simt& simt, const args& a) {
    if (one_warp || a.cut.shares == 0) return a.matrix.rows;
    if (takes_shares(a)) return std::int64_t{2} * a.cut.shares;
    const cut_totals all = simt.load(a.cut.totals, 0);
    return std::int64_t{all.rows} + all.whole;
  }

  // Finds the elements of task number i.
  template <class Simt>
  KSELECT_HD static simt::global<const T> task_at(Simt& simt, const storage& shared, const args& a,
                                                  std::int64_t i, team_task& task) {
    std::int64_t row = i;
    if (!one_warp && a.cut.shares != 0) {
      if (takes_shares(a)) return piece_at(simt, a, shared.pieces[i % 2], task);
      const std::int64_t merged = simt.load(a.cut.totals, 0).rows;
      if (i < merged) return candidates_at(simt, a, i, task);
      row = simt.load(a.cut.whole, i - merged);
    }
    const auto elements = kernels::row_at(simt, a.matrix, row);
    if (one_warp && a.cut.shares != 0 && elements.size >= a.cut.shortest_row) return {};
    task.from = source::row;
    task.k = kernels::wanted_of(simt, a.matrix, row);
    task.first = row * a.matrix.k;
    return elements;
  }

  template <class Simt>
  KSELECT_HD static simt::global<const T> piece_at(Simt& simt, const args& a,
                                                   const row_piece& piece, team_task& task) {
    if (piece.elements == 0) return {};
    const cut_row& row = piece.of;
    task.from = source::piece;
    task.k = kernels::wanted_of(simt, a.matrix, row.row);
    task.first = std::int64_t{row.first} * a.matrix.k;
    if (piece.number != 0) {
      task.first += least(row.head, task.k) + std::int64_t{piece.number - 1} * task.k;
    }
    const std::int64_t begin = kernels::start_of(simt, a.matrix, row.row) + piece.begin;
    return simt.slice(a.matrix.input, begin, piece.elements);
  }

  template <class Simt>
  KSELECT_HD static simt::global<const T> candidates_at(Simt& simt, const args& a, std::int64_t i,
                                                        team_task& task) {
    const cut_row row = simt.load(a.cut.rows, i);
    task.from = source::candidates;
    task.k = kernels::wanted_of(simt, a.matrix, row.row);
    task.first = std::int64_t{row.row} * a.matrix.k;
    task.cut = static_cast<position>(i);
    return simt.slice(
        simt::global<const T>(a.cut.candidates.values), std::int64_t{row.first} * a.matrix.k,
        least(row.head, task.k) + std::int64_t{row.count - 2} * task.k + least(row.last, task.k));
  }

  template <class Simt>
  KSELECT_HD static answer_view<T> outputs_of(Simt& simt, const args& a, const team_task& task) {
    if (task.from == source::piece) {
      return kernels::outputs_at(simt, a.cut.candidates, task.first, task.k);
    }
    return kernels::outputs_at(simt, a.out, task.first, a.matrix.k);
  }

  // After the answer: fills what the row has no element for, and makes indices of candidates those
  // of the row.
  template <class Team>
  KSELECT_HD static void finish(Team& mine, const args& a, const team_task& task) {
    if (task.from == source::piece) return;
    const auto out = outputs_of(mine.simt, a, task);
    const position written = task.elements < task.k ? task.elements : task.k;
    kernels::fill_outputs(mine.simt, a.matrix, out, written, a.matrix.k, mine.thread(),
                          mine.threads());
    if (task.from == source::row || a.cut.candidates.indices_32.size == 0) return;
    const cut_row row = mine.simt.load(a.cut.rows, task.cut);
    for (position j = mine.thread(); j < written; j += mine.threads()) {
      const auto at =
          static_cast<position>(out.indices_32.size != 0 ? mine.simt.load(out.indices_32, j)
                                                         : mine.simt.load(out.indices_64, j));
      std::int64_t index =
          mine.simt.load(a.cut.candidates.indices_32, std::int64_t{row.first} * a.matrix.k + at);
      const position of_head = least(row.head, task.k);
      if (at >= of_head) {
        index += row.head + std::int64_t{(at - of_head) / task.k} * row.elements;
      }
      kernels::store_index(mine.simt, out, j, index);
    }
  }

  template <class Team>
  KSELECT_HD static void select(Team& mine, plan& shape, const args& a,
                                simt::global<const T> elements, position k, std::int64_t number) {
    if (mine.thread() == 0) {
      const position threads = mine.threads();
      constexpr position held = static_cast<position>(loads) * 16 / sizeof(T);
      shape = plan_of_row(a, static_cast<position>(elements.size), threads, threads * held);
    }
    mine.sync();
    using reader = row_reader<Team, loads>;
    reader row(mine, elements, a.matrix.wanted, number);
    narrowing<Team> narrow(mine);
    answer<Team> out(mine, narrow, a.out, 0, k, a.matrix.wanted);
    filtered_row<reader, many>(mine, narrow, row, k).select(out);
  }
};

}  // namespace kselect::bms
