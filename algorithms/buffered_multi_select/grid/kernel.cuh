#pragma once
// Buffered multi-select with several blocks a row, for rows too few to fill the device. There is
// one launch. Each block
//
//   reads its part of the row's first tile and posts the minima of its groups,
//   looks up the minima of the other parts and finds the threshold of the row,
//   filters its part of the row and posts its survivors;
//
// and the row's last block gathers all survivors and selects. With few rows the time is one chain
// of latencies, so blocks exchange messages, whose tags tell that they are of this call.
//
// Blocks need not run side by side. The last block waits for earlier ones, which a device starts
// first; its threshold comes from all minima. The other blocks look for minima only so often. A
// bound from some or all of the minima is not below the last block's. So no block drops an element
// that the last block's bound admits, and if it admits k elements, they hold the answer.

#include "algorithms/buffered_multi_select/grid/in_order.cuh"
#include "algorithms/buffered_multi_select/grid/minima.cuh"
#include "algorithms/buffered_multi_select/grid/share.cuh"
#include "algorithms/buffered_multi_select/grid/survivors.cuh"

namespace kselect::bms {

// Selects from a whole row, by one block alone.
template <class T, bool indexed, int loads, class Simt>
KSELECT_HD void select_alone(Simt& simt, team_storage<key_of<T>>& shared,
                             const grid_args<T, indexed>& a, position row) {
  using Team = team<Simt, T, indexed, false>;
  const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
  Team whole(simt, shared, memory, a.alone);
  narrowing<Team> narrow(whole);
  survivors<Team> list(whole, narrow, a.matrix.k);
  list.start(static_cast<key_of<T>>(~key_of<T>{0}), false);
  row_share<Team, loads> share(whole, a.matrix, row);
  const position size = share.filter(list);
  answer_of_grid<Team>(whole, narrow, a.out, row, a.matrix.k, a.matrix.wanted,
                       list_in_order(whole, a))
      .write(list.range(), size);
}

template <class T, bool indexed, int loads>
struct grid_kernel {
  static constexpr int max_threads = most_grid_threads;
  static constexpr int min_blocks = 2;
  using args = grid_args<T, indexed>;
  struct storage {
    team_storage<key_of<T>> team;
    grouped_minima<T> minima;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto part = row_part::of(static_cast<position>(simt.block()), a.matrix.rows, a.parts);
    const position row = part.row;
    using Team = team<Simt, T, indexed, false>;
    // Loaded before the part: a later load would wait behind those of the part.
    const std::uint64_t tag_before = simt.load(a.tags, row);
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    Team block(simt, shared.team, memory, a.shape);
    // Reads the block's part of the row's first tile.
    row_share<Team, loads> share(block, a.matrix, row, part.number, a.parts);
    narrowing<Team> narrow(block);
    narrow.prepare();
    // 1. The threshold of the row, from the minima of all blocks.
    posted_minima<Team> minima(block, shared.minima, a, part);
    minima.post(share.minima(), tag_after(tag_before, a.call));
    block.sync();  // so that the last block need not wait for itself
    const auto [bound, no_nans] = minima.threshold(narrow);
    // 2. One pass over the block's part of the row. 3. A full list is cut (steps/survivors.cuh).
    survivors<Team> list(block, narrow, a.matrix.k);
    list.start(bound, no_nans);
    const position own = share.filter(list);
    auto* const told = args::shared::told(simt.dynamic_shared(), a.shape);
    posted_survivors<Team> others(block, a, part, shared.minima.tag, told);
    if (!part.is_last(a.parts)) return others.leave(own);
    // 4. The row's last block gathers the survivors of all parts, and selects from them.
    others.prepare();
    block.sync();  // all have seen the size
    const position size = others.gather(list);
    keep_tag(block, a, row, shared.minima.tag);
    if (size < a.matrix.k) {  // the first tile misled
      select_alone<T, indexed, loads>(simt, shared.team, a, row);
    } else {
      answer_of_grid<Team>(block, narrow, a.out, row, a.matrix.k, a.matrix.wanted,
                           list_in_order(block, a))
          .write(list.range(), size);
    }
    if (a.in_order) put_in_order<T, indexed, args>(simt, shared.team, a, row);
  }
};

}  // namespace kselect::bms
