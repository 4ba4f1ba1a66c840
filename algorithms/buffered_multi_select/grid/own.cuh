#pragma once
// Buffered multi-select with several blocks a row, for short parts. There, waiting for the minima
// of other parts (grid/kernel.cuh) would take about as long as everything else. Each block
//
//   reads its part of the row and finds a threshold from its own minima, which almost surely admits
//   what the part has of the row's k smallest;
//   posts its survivors, and `complete`: a key below which they are all of the part's elements;
//
// and the row's last block loads all of these into registers. It has every element below the least
// `complete`. If these are k or more, it selects from them. If not, parts have held elements back,
// as in sorted rows and rows of ties, and are read again (grid/again.cuh).

#include "algorithms/buffered_multi_select/grid/own_part.cuh"

namespace kselect::bms {

// `one_tile`: each part is one tile.
template <class T, bool indexed, int loads, bool one_tile>
struct own_kernel {
  static constexpr int max_threads = most_grid_threads;
  static constexpr int min_blocks = 2;
  using args = own_args<T, indexed>;
  using storage = own_storage<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    using Team = team<Simt, T, indexed, false>;
    const auto part = row_part::of(static_cast<position>(simt.block()), a.matrix.rows, a.parts);
    // Loaded before the part: a later load would wait behind those of the part.
    const std::uint64_t tag_before = simt.thread() == 0 ? simt.load(a.tags, part.row) : 0;
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    auto* const told = args::shared::told(simt.dynamic_shared(), a.shape);
    Team block(simt, shared.team, memory, a.shape);
    // Reads the first tile of the part.
    own_share<Team, loads, one_tile> share(block, a.matrix, part.row, part.number, a.parts);
    narrowing<Team> narrow(block);
    narrow.prepare();
    survivors<Team> list(block, narrow, a.matrix.k);
    own_part<Team, one_tile> own(block, shared, a, part);
    own.prepare(list);
    // 1. The part's threshold, from its own minima.
    own.start(list, share.minima().x[0], tag_after(tag_before, a.call));
    if (own.is_tied()) share.pass_over_most(list);
    // 2. One pass over the part; 3. a full list is cut (steps/survivors.cuh). Then the block posts
    // its survivors.
    own.post(narrow, list, share.filter(list));
    if (!part.is_last(a.parts)) return;
    // 4. The row's last block gathers the survivors, and selects from those that are certain.
    block.sync();  // so that it need not wait for itself
    gathered_parts<Team> gathered(block, shared, a, part.row);
    const position certain = gathered.gather(told, a.parts);
    keep_tag(block, a, part.row, shared.tag);
    if (certain < a.matrix.k) {
      select_again<T, indexed, loads, one_tile>(simt, shared, a, part.row);
    } else {
      answer_of_grid<Team> out(block, narrow, a.out, part.row, a.matrix.k, a.matrix.wanted,
                               list_in_order(block, a));
      gathered.write(out);
    }
    if (a.in_order) put_in_order<T, indexed, args>(simt, shared.team, a, part.row);
  }
};

template <class T, bool indexed, int loads>
using own_kernel_of_tile = own_kernel<T, indexed, loads, true>;
template <class T, bool indexed, int loads>
using own_kernel_of_tiles = own_kernel<T, indexed, loads, false>;

}  // namespace kselect::bms
