#pragma once
// Buffered multi-select, a row a block or a warp: kernels that put the answer in order. The steps
// are those of the others (block/kernel.cuh, warp/kernel.cuh) up to the end. A block or warp has
// one row: a loop over rows would keep registers that the end needs.

#include "algorithms/buffered_multi_select/steps/filtered_row.cuh"
#include "algorithms/buffered_multi_select/steps/forms.cuh"
#include "algorithms/buffered_multi_select/steps/ordered_answer.cuh"
#include "algorithms/buffered_multi_select/steps/ordered_list.cuh"
#include "algorithms/buffered_multi_select/warp/brief_row.cuh"
#include "algorithms/buffered_multi_select/warp/kernel.cuh"

namespace kselect::bms {

// The most elements that a block puts in order. Longer answers are sorted by a kernel of their own.
inline constexpr position most_ordered_by_block = 256;

// Bytes of a team's memory, with `room` elements behind it (answer_list).
template <class T>
KSELECT_HD constexpr std::size_t bytes_in_order(const plan& shape, position room, int threads = 0) {
  constexpr std::size_t each = sizeof(typename candidate_of<T, true>::type);
  return team_memory<T, true>::bytes(shape, threads) + (room * each + 15) / 16 * 16;
}

// One block a row. Its room is the list's capacity.
template <class T, int loads, bool many>
struct block_kernel_in_order {
  static constexpr int max_threads = 1024;
  struct storage {
    team_storage<key_of<T>> team;
    dealt_counts counts;
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    using Team = team<Simt, T, true, false>;
    const auto memory = team_memory<T, true>::at(simt.dynamic_shared(), a.shape);
    Team block(simt, shared.team, memory, a.shape);
    if (simt.thread() == 0) shared.counts.crowded = 0;
    list_survivors<Team>(block, a);
    write<Simt>(simt, shared, a);
  }

 private:
  template <class Team>
  KSELECT_HD static void list_survivors(Team& block, const args& a) {
    using reader = row_reader<Team, loads>;
    const std::int64_t row = block.simt.block();
    reader source(block, kernels::row_at(block.simt, a.matrix, row), a.matrix.wanted, row);
    narrowing<Team> narrow(block);
    filtered_row<reader, many>(block, narrow, source, a.matrix.k).list_survivors();
  }

  // With registers of its own: otherwise the pass over the row spills.
  template <class Simt>
  KSELECT_RARE KSELECT_HD static void write(Simt simt, storage& shared, const args& a) {
    using Team = team<Simt, T, true, false>;
    const auto memory = team_memory<T, true>::at(simt.dynamic_shared(), a.shape);
    Team block(simt, shared.team, memory, a.shape);
    const position k = a.matrix.k, size = shared.team.claimed;
    answer_places<Team> places(block, a.out, simt.block(), k, a.matrix.wanted);
    ordered_list<Team>(block, shared.counts, k, a.matrix.n)
        .write({shared.team.list.lowest, shared.team.list.highest, 0, size}, size, places);
  }
};

// One warp a row, of which few elements pass the threshold. Its room is k.
template <class T, int loads>
struct warp_kernel_in_order {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  static constexpr int min_blocks = 28 / rows_per_block;  // as of the others
  struct storage {
    team_storage<key_of<T>> team[rows_per_block];
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    if (row >= a.matrix.rows) return;
    const position k = a.matrix.k;
    auto* const own = static_cast<unsigned char*>(simt.dynamic_shared()) +
                      static_cast<std::size_t>(simt.warp()) * bytes_in_order<T>(a.shape, k);
    const auto memory = team_memory<T, true>::at(own, a.shape);
    using Team = team<Simt, T, true, true, true>;
    Team warp(simt, shared.team[simt.warp()], memory, a.shape);
    list_answer<Team>(warp, a, row);
    warp.sync();
    answer_places<Team> places(warp, a.out, row, k, a.matrix.wanted);
    ordered_answer<Team>(warp, k).write(places);
  }

 private:
  template <class Team>
  KSELECT_HD static void list_answer(Team& warp, const args& a, std::int64_t row) {
    using reader = row_reader<Team, loads, true>;
    const position k = a.matrix.k;
    reader source(warp, kernels::row_at(warp.simt, a.matrix, row), a.matrix.wanted, row);
    narrowing<Team> narrow(warp);
    answer<Team, false, answer_goes::to_list> list(warp, narrow, a.out, row, k, a.matrix.wanted);
    if (brief_row<reader>(warp, narrow, source, k).select(list)) return;
    warp.sync();
    filtered_row<reader, true>(warp, narrow, source, k).select(list);
  }
};

}  // namespace kselect::bms
