#pragma once
// Quick multi-select: the kernels. Each gives teams their rows and calls the steps.

#include "algorithms/quick_multi_select/algorithm_1.cuh"

namespace kselect::qms {

// The matrix, its answers and the auxiliary arrays.
template <class T, bool indexed>
struct matrix_view {
  simt::global<const T> input;  // Q rows of n, `pitch` apart
  simt::global<T> values;       // [Q][k]
  simt::global<std::int32_t> indices_32;
  simt::global<std::int64_t> indices_64;
  typename row_view<T, indexed>::elements auxiliary_0, auxiliary_1;  // [teams][n]
  std::int64_t rows, pitch;
  position n, k;
  direction wanted;
};

template <class Simt, class T, bool indexed>
KSELECT_HD row_view<T, indexed> row_of(Simt& simt, const matrix_view<T, indexed>& m,
                                       std::int64_t row, std::int64_t team) {
  return {simt.slice(m.input, row * m.pitch, m.n), simt.slice(m.auxiliary_0, team * m.n, m.n),
          simt.slice(m.auxiliary_1, team * m.n, m.n), m.wanted, row};
}

template <class Simt, class T, bool indexed>
KSELECT_HD output_view<T> output_of(Simt& simt, const matrix_view<T, indexed>& m,
                                    std::int64_t row) {
  const auto part = [&](auto whole) {
    return whole.size == 0 ? whole : simt.slice(whole, row * m.k, m.k);
  };
  return {part(m.values), part(m.indices_32), part(m.indices_64), m.wanted};
}

// ---- the single-launch forms

// A team without barriers keeps more of a row in registers.
inline constexpr int resident_single_warps = 24;  // of a multiprocessor: 80 registers a thread
inline constexpr int resident_warps = 32;         // 64 registers

template <class T, bool indexed, bool one_warp, int items_of_lane = items>
struct block_kernel {
  static constexpr int max_threads = one_warp ? simt::warp_size : simt::thread_limit;
  static constexpr int min_blocks = one_warp ? resident_single_warps : 1;
  struct storage {
    team_storage<order_key_t<T>> team;
  };
  struct args {
    matrix_view<T, indexed> matrix;
    pivot_rule rule;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      const auto view = row_of(simt, a.matrix, row, simt.block());
      team<Simt, T, indexed, !one_warp, items_of_lane> block(simt, shared.team,
                                                             simt.dynamic_shared(), view);
      select_row(block, a.matrix.n, a.matrix.k, a.rule, output_of(simt, a.matrix, row));
      simt.sync_block();  // the next row uses the same storage
    }
  }
};

inline constexpr int rows_per_block = 8;  // of the warp form

template <class T, bool indexed>
struct warp_kernel {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  static constexpr int min_blocks = resident_single_warps / rows_per_block;
  struct storage {
    team_storage<order_key_t<T>> team[rows_per_block];
  };
  using args = typename block_kernel<T, indexed, true>::args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const stage =
        static_cast<unsigned char*>(simt.dynamic_shared()) +
        static_cast<std::size_t>(simt.warp()) * stage_bytes<order_key_t<T>, indexed>(1);
    const std::int64_t number = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    const std::int64_t teams = std::int64_t{simt.blocks()} * rows_per_block;
    for (std::int64_t row = number; row < a.matrix.rows; row += teams) {
      const auto view = row_of(simt, a.matrix, row, number);
      team<Simt, T, indexed, false> warp(simt, shared.team[simt.warp()], stage, view);
      select_row(warp, a.matrix.n, a.matrix.k, a.rule, output_of(simt, a.matrix, row));
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }
};

// ---- the host-driven form

// A row's work in a launch: a round of Algorithm 1, or a run of the answer to be written.
template <class Key>
struct job {
  std::int64_t row;
  state<Key> s;
  position next;  // write: the run's place in the row's answer
};
template <class Key>
struct round_result {
  Key pivot;
  Key left;  // a position; as wide as the key, so that there is no padding
};

// "Distance computation and partitioning with pivot selection are done on the GPU".
template <class T, bool indexed>
struct round_kernel {
  struct storage {
    team_storage<order_key_t<T>> team;
  };
  struct args {
    matrix_view<T, indexed> matrix;
    pivot_rule rule;
    simt::global<const job<order_key_t<T>>> jobs;
    simt::global<round_result<order_key_t<T>>> results;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.jobs, simt.block());
    const auto view = row_of(simt, a.matrix, mine.row, mine.row);
    using block_team = team<Simt, T, indexed, true>;
    block_team block(simt, shared.team, simt.dynamic_shared(), view);
    const auto pivot = pivots<block_team>(block).choose(mine.s, a.rule);
    const position left = rounds<block_team>(block).round(mine.s, pivot, a.rule);
    if (simt.thread() == 0) simt.store(a.results, simt.block(), {pivot, left});
  }
};

template <class T, bool indexed>
struct write_kernel {
  using storage = typename round_kernel<T, indexed>::storage;
  struct args {
    matrix_view<T, indexed> matrix;
    simt::global<const job<order_key_t<T>>> jobs;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.jobs, simt.block());
    const auto view = row_of(simt, a.matrix, mine.row, mine.row);
    using block_team = team<Simt, T, indexed, true>;
    block_team block(simt, shared.team, simt.dynamic_shared(), view);
    const auto out = output_of(simt, a.matrix, mine.row);
    answer<block_team>(block, out).write_rest(mine.s, mine.next);
  }
};

}  // namespace kselect::qms
