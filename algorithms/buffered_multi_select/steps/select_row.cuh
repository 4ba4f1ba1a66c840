#pragma once
// Buffered multi-select: one team selects from one row. The kernels of a block (block/kernel.cuh)
// and of a warp (warp/kernel.cuh) give teams their rows.

#include "algorithms/buffered_multi_select/steps/answer.cuh"
#include "algorithms/buffered_multi_select/steps/resident_row.cuh"
#include "algorithms/buffered_multi_select/steps/stream.cuh"
#include "algorithms/buffered_multi_select/steps/threshold.cuh"
#include "algorithms/buffered_multi_select/warp/brief_row.cuh"

namespace kselect::bms {

// Selects from a row by one team, with the survivors in a list.
template <class Reader, bool many>
class filtered_row {
 public:
  using Team = typename Reader::Team;
  using key = typename Team::key;
  using tile = typename Reader::tile;

  KSELECT_HD filtered_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), list_(team, narrow, k), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    position size = 0;
    // A first tile with more than its share of the smallest elements gives too low a threshold. The
    // risk is one in 5,000 for a row in random order, and one in `tiles` for a sorted one. The
    // second attempt takes the k-th of the minima, which is a guarantee if there are k minima and
    // all are numbers. The third admits every element.
    for (int attempt = 0; size < k_; ++attempt) {
      tile own;
      row_.load(0, own);  // first, so that loads and preparations overlap
      prepare(attempt == 0);
      const plan& p = team_.shape;
      const position rank = attempt == 0 ? p.rank : attempt == 1 ? k_ : ~position{0};
      size = pass(own, rank, attempt == 0 ? p.slack : p.kept_most - k_);
    }
    if constexpr (many && !Team::one_warp) {
      write_list(team_, narrow_, list_.range(), size, k_, out);
    } else {
      out.write(list_.range(), size);
    }
  }

 private:
  KSELECT_HD void prepare(bool first) {
    if (first && Team::one_warp) return;  // a warp does not count into bins
    if (first) {
      narrow_.prepare();
    } else {
      team_.sync();  // all have seen the size
      narrow_.forget_extremes();
    }
    team_.sync();
  }

  // Reads the row once, with a threshold of that rank. `own`: the caller's part of the first tile.
  // Returns the number of survivors.
  KSELECT_HD position pass(tile& own, position rank, position slack) {
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    constexpr int groups =
        many && !Team::one_warp ? many_groups : few_groups<typename Team::stored>;
    const auto [bound, no_nans] = threshold_of<groups, Reader>(team_, narrow_, own, rank, slack);
    list_.start(bound, no_nans);
    stream<Reader, many>(team_, row_, list_).run(own);
    return list_.finish();
  }

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  survivors<Team> list_;
  position k_;
};

// How a row is worked on. filtered: few elements pass the threshold. filtered_many: several of each
// thread pass. resident: the whole row stays in registers. brief: as brief_row.cuh says.
enum class form : std::uint8_t { filtered, filtered_many, resident, brief };

template <class T>
struct row_args {
  rows_view<T> matrix;
  answer_view<T> out;
  plan shape;
};

// Selects from row number `row`. After a sync the team can be used again.
template <class Team, int loads, form how, class T>
KSELECT_HD void select_row(Team& team, const row_args<T>& a, std::int64_t row) {
  using reader = row_reader<Team, loads, how == form::brief || how == form::resident>;
  reader source(team, kernels::row_at(team.simt, a.matrix, row), a.matrix.wanted, row);
  narrowing<Team> narrow(team);
  answer<Team> out(team, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
  if constexpr (how == form::resident) {
    resident_row<reader>(team, narrow, source, a.matrix.k).select(out);
  } else {
    if constexpr (how == form::brief) {
      if (brief_row<reader>(team, narrow, source, a.matrix.k).select(out)) return;
      team.sync();
    }
    filtered_row<reader, how != form::filtered>(team, narrow, source, a.matrix.k).select(out);
  }
}

}  // namespace kselect::bms
