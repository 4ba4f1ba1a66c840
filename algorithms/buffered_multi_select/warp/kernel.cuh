#pragma once
// Buffered multi-select, one warp a row: the kernel.
//
// A brief row has so few survivors that the warp's registers hold them (brief_row.cuh). Others that
// a threshold holds most of back are filtered, with a list in shared memory, as by a block
// (steps/filtered_row.cuh). If k is a large part of n, the row stays whole in registers
// (steps/resident_row.cuh).

#include "algorithms/buffered_multi_select/steps/filtered_row.cuh"
#include "algorithms/buffered_multi_select/steps/forms.cuh"
#include "algorithms/buffered_multi_select/steps/resident_row.cuh"
#include "algorithms/buffered_multi_select/warp/brief_row.cuh"

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
    team_storage<key_of<T>> team[rows_per_block];
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
      select(warp, a, row);
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }

 private:
  // Selects from row number `row`. After a sync the warp can be used again.
  template <class Team>
  KSELECT_HD static void select(Team& warp, const args& a, std::int64_t row) {
    using reader = row_reader<Team, loads, how == form::brief || how == form::resident>;
    reader source(warp, kernels::row_at(warp.simt, a.matrix, row), a.matrix.wanted, row);
    narrowing<Team> narrow(warp);
    answer<Team> out(warp, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
    if constexpr (how == form::resident) {
      resident_row<reader>(warp, narrow, source, a.matrix.k).select(out);
    } else {
      if constexpr (how == form::brief) {
        if (brief_row<reader>(warp, narrow, source, a.matrix.k).select(out)) return;
        warp.sync();
      }
      constexpr bool many = how != form::filtered;
      filtered_row<reader, many>(warp, narrow, source, a.matrix.k).select(out);
    }
  }
};

}  // namespace kselect::bms
