#pragma once
// Buffered multi-select, one block a row: the kernel.

#include "algorithms/buffered_multi_select/steps/select_row.cuh"

namespace kselect::bms {

// One block a row.
template <class T, bool indexed, int loads, form how>
struct block_kernel {
  static constexpr int max_threads = 1024;
  struct storage {
    control<key_of<T>> team;
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
      select_row<decltype(block), loads, how>(block, a, row);
      if (row + simt.blocks() >= a.matrix.rows) return;
      if constexpr (how == form::resident) narrowing<decltype(block)>(block).forget_extremes();
      simt.sync_block();  // the next row uses the same storage
    }
  }
};

}  // namespace kselect::bms
