#pragma once
// Quick multi-select: the answer of a row whose selection is settled.

#include "algorithms/quick_multi_select/team.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::qms {

// The last step: writes kept runs and the settled rest to the row's answer.
template <class Team>
class answer {
 public:
  using key = typename Team::key;
  using element = typename Team::element;

  KSELECT_HD answer(Team& team, const output_view<typename Team::value>& out)
      : team_(team), out_(out) {}

  // Writes the wanted elements of a settled state to out[next ...].
  KSELECT_HD void write_rest(const state<key>& s, position next) {
    if (s.wanted == s.active.size() || s.low == s.high) {
      copy_out({s.active.begin, s.active.begin + s.wanted, s.active.where}, next);
    } else {
      rank_out(s, next);
    }
  }

  // Copies a run to out[next ...].
  KSELECT_HD void copy_out(reference part, position next) {
    for (auto i = static_cast<position>(team_.thread()); i < part.size();
         i += static_cast<position>(team_.threads())) {
      write(next + i, team_.read(part.where, part.begin + i));
    }
  }

 private:
  // Writes the wanted elements of a small rest. Each thread ranks its own elements, ties by place,
  // and writes those of a wanted rank.
  KSELECT_HD void rank_out(const state<key>& s, position next) {
    const position size = s.active.size();
    key* const rest = team_.stage_of_keys();
    element own[most_own] = {};
    position mine[most_own];
    KSELECT_UNROLL
    for (int i = 0; i < most_own; ++i) {
      mine[i] = static_cast<position>(team_.thread() + i * team_.threads());
      if (mine[i] < size) {
        own[i] = team_.read(s.active.where, s.active.begin + mine[i]);
        rest[mine[i]] = own[i].k;
      }
    }
    team_.sync();
    position rank[most_own] = {};
    if (mine[0] < size) {
      for (position other = 0; other < size; ++other) {
        const key k = rest[other];
        KSELECT_UNROLL
        for (int i = 0; i < most_own; ++i) {
          rank[i] += static_cast<position>(k < own[i].k || (k == own[i].k && other < mine[i]));
        }
      }
    }
    KSELECT_UNROLL
    for (int i = 0; i < most_own; ++i) {
      if (mine[i] < size && rank[i] < s.wanted) write(next + rank[i], own[i]);
    }
  }

  KSELECT_HD void write(position to, const element& e) {
    team_.simt.store(out_.values, to, from_selection_key<typename Team::value>(e.k, out_.wanted));
    if constexpr (Team::indexed) kernels::store_index(team_.simt, out_, to, e.at());
  }

  Team& team_;
  const output_view<typename Team::value>& out_;
};

}  // namespace kselect::qms
