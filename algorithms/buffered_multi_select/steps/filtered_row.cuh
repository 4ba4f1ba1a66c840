#pragma once
// Buffered multi-select: one team selects from one row, with the survivors in a list. This is the
// algorithm, for a warp and for a block alike; NOTES.md tells why it is so.

#include "algorithms/buffered_multi_select/steps/by_bracket.cuh"
#include "algorithms/buffered_multi_select/steps/stream.cuh"
#include "algorithms/buffered_multi_select/steps/threshold.cuh"

namespace kselect::bms {

// `many`: several elements of each thread are expected to pass the threshold.
template <class Reader, bool many>
class filtered_row {
 public:
  using Team = typename Reader::Team;
  using tile = typename Reader::tile;

  KSELECT_HD filtered_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), list_(team, narrow, k), k_(k) {}

  template <class Answer>
  KSELECT_HD void select(Answer& out) {
    const position size = list_survivors();
    // 4. The k smallest of the list are the answer.
    if constexpr (many && !Team::one_warp) {
      write_list(team_, narrow_, list_.range(), size, k_, out);
    } else {
      out.write(list_.range(), size);
    }
  }

  // Leaves in the list at least k elements, which hold the k smallest. Returns their number.
  //
  // A first tile with more than its share of the smallest elements gives too low a threshold. The
  // risk is one in 5,000 for a row in random order (shape.hpp), and one in `tiles` for a sorted
  // one. The second attempt takes the k-th of the minima, which is a guarantee if there are k
  // minima and all are numbers. The third admits every element.
  KSELECT_HD position list_survivors() {
    position size = 0;
    for (int attempt = 0; size < k_; ++attempt) {
      tile first;
      row_.load(0, first);  // before anything else, so that loads and preparations overlap
      prepare(attempt == 0);
      const plan& p = team_.shape;
      const position rank = attempt == 0 ? p.rank : attempt == 1 ? k_ : ~position{0};
      size = pass(first, rank, attempt == 0 ? p.slack : p.kept_most - k_);
    }
    return size;
  }

 private:
  // Reads the row once. `first`: the caller's part of the first tile. Returns the number of
  // survivors.
  KSELECT_HD position pass(tile& first, position rank, position slack) {
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    // 1. Minima of groups of the first tile give the threshold.
    constexpr int groups =
        many && !Team::one_warp ? many_groups : few_groups<typename Team::stored>;
    const auto [bound, no_nans] = threshold_of<groups, Reader>(team_, narrow_, first, rank, slack);
    // 2. In one pass, what is not above the threshold enters the list. The first tile is still in
    // registers.
    list_.start(bound, no_nans);
    stream<Reader, many>(team_, row_, list_).run(first);
    // 3. Whenever the list is full, the warps meet and cut it to about k entries, which lowers the
    // threshold (survivors.cuh). They meet once more at the end.
    return list_.finish();
  }

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

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  survivors<Team> list_;
  position k_;
};

}  // namespace kselect::bms
