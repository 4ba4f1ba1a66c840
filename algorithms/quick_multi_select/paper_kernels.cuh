#pragma once
// Quick multi-select in the paper's form: the kernels. A row has a team of its own.

#include "algorithms/quick_multi_select/paper_partition.cuh"

namespace kselect::qms_paper {

// The rows, the answer, and every row's auxiliary arrays.
template <class T, bool indexed>
struct memory_view {
  kernels::rows_view<T> rows;
  kernels::answer_view<T> out;
  typename row_view<T, indexed>::elements auxiliary_0, auxiliary_1;  // [Q][n]
};

template <class Simt, class T, bool indexed>
KSELECT_HD row_view<T, indexed> row_of(Simt& simt, const memory_view<T, indexed>& m,
                                       std::int64_t row) {
  const std::int64_t n = m.rows.n;
  return {kernels::row_at(simt, m.rows, row), simt.slice(m.auxiliary_0, row * n, n),
          simt.slice(m.auxiliary_1, row * n, n), m.rows.wanted};
}

// "Partitioning with pivot selection": one iteration's work on the GPU.
template <class Key>
struct partition_result {
  Key pivot;
  Key less;  // a position; as wide as the key, so that there is no padding
};
template <class Team>
KSELECT_HD partition_result<typename Team::key> select_pivot_and_partition(
    Team& team, const search<typename Team::key>& s, std::int64_t row) {
  // After a partition that split nothing off, the pivot's ties go to the left.
  const auto pivot = s.ties_next ? static_cast<typename Team::key>(s.pivot + 1)
                                 : team.read(s.active.where, random_place(s, row)).k;
  return {pivot, team.partition(s.active, pivot)};
}

// Writes the elements of a reference to the answer of a row, from place `next` on.
template <class Team, class T, bool indexed>
KSELECT_HD void write_answer(Team& team, const memory_view<T, indexed>& m, std::int64_t row,
                             reference part, position next) {
  constexpr auto what = indexed ? kernels::answer::pairs : kernels::answer::values;
  const std::int64_t first = row * m.rows.k + next;
  for (std::int64_t i = team.thread(); i < part.size(); i += team.threads()) {
    const auto e = team.read(part.where, part.begin + static_cast<position>(i));
    kernels::write_answer<what>(team.simt, m.out, first + i, e.k, e.at(), m.rows.wanted);
  }
}

// ---- qms-warp and qms-block: Algorithm 1's loop in one launch

// Algorithm 1's while loop for one row. The sides that are kept stay where they are: the stack gets
// references to them. Then all that was found is written.
template <class Team, class T, bool indexed>
KSELECT_HD void search_row(Team& team, const memory_view<T, indexed>& m, std::int64_t row,
                           simt::global<reference> stack) {
  position depth = 0;
  auto s = start_of_search<typename Team::key>(m.rows.n, m.rows.k);
  while (!found(s)) {
    const auto [pivot, less] = select_pivot_and_partition(team, s, row);
    const reference kept = decide(s, pivot, static_cast<position>(less));
    if (kept.size() == 0) continue;
    if (team.thread() == 0) team.simt.store(stack, depth, kept);
    ++depth;
  }
  team.sync();  // the stack was written by one thread
  position next = 0;
  for (position i = 0; i < depth; ++i) {
    const reference kept = team.simt.load(stack, i);
    write_answer(team, m, row, kept, next);
    next += kept.size();
  }
  write_answer(team, m, row, {s.active.begin, s.active.begin + s.wanted, s.active.where}, next);
}

// 128 blocks or 1024 warps fill the paper's GPU, so there a block has eight warps.
inline constexpr int rows_per_block = 8;  // of the warp form

template <class T, bool indexed, bool whole_block>
struct search_kernel {
  static constexpr int rows_of_block = whole_block ? 1 : rows_per_block;
  static constexpr int warps_of_row = whole_block ? most_warps : 1;
  static constexpr int max_threads = rows_of_block * warps_of_row * simt::warp_size;

  struct storage {
    team_storage<order_key_t<T>, indexed, warps_of_row> team[rows_of_block];
  };
  struct args {
    memory_view<T, indexed> memory;
    simt::global<reference> stacks;  // [Q][K]: every reference has an element or more
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int number = whole_block ? 0 : simt.warp();
    const std::int64_t row = std::int64_t{simt.block()} * rows_of_block + number;
    if (row >= a.memory.rows.rows) return;
    const auto view = row_of(simt, a.memory, row);
    team<Simt, T, indexed, whole_block> own(simt, shared.team[number], view);
    const position k = a.memory.rows.k;
    search_row(own, a.memory, row, simt.slice(a.stacks, row * k, k));
  }
};

// ---- qms-host: a launch an iteration, a block a row

// A row's work in a launch.
template <class Key>
struct job {
  std::int64_t row;
  search<Key> s;
};

template <class T, bool indexed>
struct iteration_kernel {
  static constexpr int max_threads = most_warps * simt::warp_size;
  using key = order_key_t<T>;
  using storage = team_storage<key, indexed, most_warps>;
  struct args {
    memory_view<T, indexed> memory;
    simt::global<const job<key>> jobs;
    simt::global<partition_result<key>> results;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.jobs, simt.block());
    const auto view = row_of(simt, a.memory, mine.row);
    team<Simt, T, indexed, true> block(simt, shared, view);
    const auto result = select_pivot_and_partition(block, mine.s, mine.row);
    if (simt.thread() == 0) simt.store(a.results, simt.block(), result);
  }
};

// A reference's elements and their place in their row's answer.
struct run_of_answer {
  std::int64_t row;
  reference part;
  position next;
};

template <class T, bool indexed>
struct answer_kernel {
  static constexpr int max_threads = most_warps * simt::warp_size;
  using storage = typename iteration_kernel<T, indexed>::storage;
  struct args {
    memory_view<T, indexed> memory;
    simt::global<const run_of_answer> runs;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.runs, simt.block());
    const auto view = row_of(simt, a.memory, mine.row);
    team<Simt, T, indexed, true> block(simt, shared, view);
    write_answer(block, a.memory, mine.row, mine.part, mine.next);
  }
};

}  // namespace kselect::qms_paper
