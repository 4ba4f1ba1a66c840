#pragma once
// Buffered multi-select, several blocks a row: the row's last block puts its answer in order.
// Where rows are few, another launch would take several times as long.

#include "algorithms/buffered_multi_select/grid/args.cuh"
#include "algorithms/buffered_multi_select/steps/answer.cuh"

namespace kselect::bms {

// The most elements that are put in order here. Each is compared with all, so a longer answer is
// sorted in less time by a kernel of its own.
inline constexpr std::int64_t most_in_order = 256;

// Elements of the list that an answer is put in order from, in the block's shared memory. A few
// would be ranked by their keys alone (answer::rank).
KSELECT_HD constexpr position room_in_order(position k) {
  return k > simt::warp_size ? k : simt::warp_size + 1;
}

// Rows are few, and an answer may be put in order.
template <class Team>
using answer_of_grid = answer<Team, true, answer_goes::to_either>;

// The list for the row's answer; null if the answer goes to the outputs, in any order.
template <class Team, class Args>
KSELECT_HD typename Team::candidate* list_in_order(Team& team, const Args& a) {
  if (!a.in_order) return nullptr;
  return Args::shared::answer_list(team.simt.dynamic_shared(), a.shape, a.parts);
}

// All threads of the block call it, which has listed the row's answer.
template <class T, bool indexed, class Args, class Simt>
KSELECT_RARE KSELECT_HD void put_in_order(Simt simt, team_storage<key_of<T>>& shared, const Args& a,
                                          position row) {
  using Team = team<Simt, T, indexed, false>;
  const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
  Team block(simt, shared, memory, a.shape);
  using candidate = typename Team::candidate;
  const position k = a.matrix.k, count = room_in_order(k);
  candidate* const list = list_in_order(block, a);
  for (position i = k + block.thread(); i < count; i += block.threads()) {
    list[i] = static_cast<candidate>(~candidate{0});
  }
  block.sync();  // all of it is listed
  narrowing<Team> narrow(block);
  answer<Team, true>(block, narrow, a.out, row, k, a.matrix.wanted)
      .rank(count, 0, k, [&](position i) { return list[i]; });
}

}  // namespace kselect::bms
