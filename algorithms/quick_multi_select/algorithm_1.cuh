#pragma once
// Quick multi-select: a row from its first pivot to its answer (Komarov et al. 2014, Alg. 1).

#include "algorithms/quick_multi_select/answer.cuh"
#include "algorithms/quick_multi_select/filter.cuh"
#include "algorithms/quick_multi_select/pivot.cuh"

namespace kselect::qms {

// Algorithm 1 on the device: partitions until the k smallest are known, then writes them. (The
// paper decides on the CPU and launches a kernel a round.)
template <class Team>
KSELECT_HD void select_row(Team& team, position n, position k, pivot_rule rule,
                           const output_view<typename Team::value>& out) {
  using key = typename Team::key;
  pivots<Team> pivot_of(team);
  rounds<Team> partition(team);
  state<key> s = initial_state<key>(n, k);
  int depth = 0;
  while (!settled(s, team.threads(), rule)) {
    const key pivot = pivot_of.choose(s, rule);
    const reference left = decide(s, pivot, partition.round(s, pivot, rule));
    if (left.size() == 0) continue;
    KSELECT_ASSERT(depth < stack_capacity<key>);
    if (team.thread() == 0) team.shared.stack[depth] = left;
    ++depth;
  }
  team.sync();  // the stack was written by thread 0
  answer<Team> result(team, out);
  position next = 0;
  for (int i = 0; i < depth; ++i) {
    const reference kept = team.shared.stack[i];
    result.copy_out(kept, next);
    next += kept.size();
  }
  KSELECT_ASSERT(next == k - s.wanted);
  result.write_rest(s, next);
}

}  // namespace kselect::qms
