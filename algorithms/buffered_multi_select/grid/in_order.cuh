#pragma once
// Buffered multi-select, several blocks a row: the row's last block puts its answer in order.
// Where rows are few, another launch would take several times as long.

#include "algorithms/buffered_multi_select/grid/args.cuh"
#include "algorithms/buffered_multi_select/steps/answer.cuh"

namespace kselect::bms {

// The most elements that are put in order here. Each is compared with all, so a longer answer is
// sorted in less time by a kernel of its own.
inline constexpr std::int64_t most_in_order = 256;

// The index of the answer's element number i, or i if the caller wants no indices.
template <class Team>
KSELECT_HD std::int64_t index_of_answer(Team& team, const answer_view<typename Team::stored>& out,
                                        std::int64_t place, position i) {
  if constexpr (!Team::indexed) return 0;
  if (out.indices_32.size != 0) return team.simt.load(out.indices_32, place);
  return out.indices_64.size != 0 ? team.simt.load(out.indices_64, place) : i;
}

// All threads of the block call it, which has written the row's answer. The list is not in use.
template <class T, bool indexed, class Args, class Simt>
KSELECT_RARE KSELECT_HD void put_in_order(Simt simt, team_storage<key_of<T>>& shared, const Args& a,
                                          position row) {
  using Team = team<Simt, T, indexed, false>;
  const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
  Team block(simt, shared, memory, a.shape);
  using candidate = typename Team::candidate;
  const position k = a.matrix.k;
  // A few candidates would be ranked by their keys alone (answer::rank).
  const position count = k > simt::warp_size ? k : simt::warp_size + 1;
  KSELECT_ASSERT(count <= a.shape.capacity);
  block.sync();  // all of it is written
  for (position i = k + block.thread(); i < count; i += block.threads()) {
    memory.list[i] = static_cast<candidate>(~candidate{0});
  }
  for (position i = block.thread(); i < k; i += block.threads()) {
    const std::int64_t place = std::int64_t{row} * k + i;
    const T x = simt.load(a.out.values, place);
    memory.list[i] =
        Team::candidates::make(static_cast<key_of<T>>(selection_key(x, a.matrix.wanted)),
                               index_of_answer(block, a.out, place, i));
  }
  block.sync();  // and read
  narrowing<Team> narrow(block);
  const auto candidate_at = [&](position i) { return memory.list[i]; };
  answer<Team, true>(block, narrow, a.out, row, k, a.matrix.wanted).rank(count, 0, k, candidate_at);
}

}  // namespace kselect::bms
