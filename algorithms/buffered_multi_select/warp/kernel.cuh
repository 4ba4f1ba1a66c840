#pragma once
// Buffered multi-select, one warp a row: the kernel.

#include "algorithms/buffered_multi_select/steps/select_row.cuh"

namespace kselect::bms {

// Rows of a block in the warp form. Few: a block's registers are free only when its last row is
// done.
inline constexpr int rows_per_block = 2;

// One warp a row.
template <class T, bool indexed, int loads, form how>
struct warp_kernel {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  // This leaves 72 registers, with which rows in registers are fastest.
  static constexpr int min_blocks = 28 / rows_per_block;
  struct storage {
    control<key_of<T>> team[rows_per_block];
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const own =
        static_cast<unsigned char*>(simt.dynamic_shared()) +
        static_cast<std::size_t>(simt.warp()) * team_memory<T, indexed>::bytes(a.shape);
    const auto memory = team_memory<T, indexed>::at(own, a.shape);
    constexpr bool quarters = how == form::brief || how == form::filtered_many;
    team<Simt, T, indexed, true, quarters> warp(simt, shared.team[simt.warp()], memory, a.shape);
    if constexpr (how == form::resident) {  // the others do not count into bins
      narrowing<decltype(warp)>(warp).prepare();
      simt.sync_warp(simt::full_mask);
    }
    const std::int64_t stride = std::int64_t{simt.blocks()} * rows_per_block;
    const std::int64_t first = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    for (std::int64_t row = first; row < a.matrix.rows; row += stride) {
      select_row<decltype(warp), loads, how>(warp, a, row);
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }
};

}  // namespace kselect::bms
