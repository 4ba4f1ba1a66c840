#pragma once
// Buffered multi-select, one block a row: the kernel.
//
// A row that a threshold holds most of back is filtered (steps/filtered_row.cuh): threshold from
// group minima, one pass, cuts of the list, answer. If k is a large part of n, the row stays whole
// in registers (steps/resident_row.cuh).

#include "algorithms/buffered_multi_select/steps/filtered_row.cuh"
#include "algorithms/buffered_multi_select/steps/forms.cuh"
#include "algorithms/buffered_multi_select/steps/resident_row.cuh"

namespace kselect::bms {

// One block a row.
template <class T, bool indexed, int loads, form how>
struct block_kernel {
  static constexpr int max_threads = 1024;
  struct storage {
    team_storage<key_of<T>> team;
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    team<Simt, T, indexed, false> block(simt, shared.team, memory, a.shape);
    if constexpr (how == form::resident) {
      narrowing<decltype(block)>(block).prepare();
      simt.sync_block();
    }
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      select(block, a, row);
      if (row + simt.blocks() >= a.matrix.rows) return;
      if constexpr (how == form::resident) narrowing<decltype(block)>(block).forget_extremes();
      simt.sync_block();  // the next row uses the same storage
    }
  }

 private:
  // Selects from row number `row`. After a sync the block can be used again.
  template <class Team>
  KSELECT_HD static void select(Team& block, const args& a, std::int64_t row) {
    using reader = row_reader<Team, loads, how == form::resident>;
    reader source(block, kernels::row_at(block.simt, a.matrix, row), a.matrix.wanted, row);
    narrowing<Team> narrow(block);
    answer<Team> out(block, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
    if constexpr (how == form::resident) {
      resident_row<reader>(block, narrow, source, a.matrix.k).select(out);
    } else {
      constexpr bool many = how == form::filtered_many;
      filtered_row<reader, many>(block, narrow, source, a.matrix.k).select(out);
    }
  }
};

}  // namespace kselect::bms
