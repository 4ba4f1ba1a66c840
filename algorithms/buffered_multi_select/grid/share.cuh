#pragma once
// Buffered multi-select, several blocks a row: a block's share of it.

#include "algorithms/buffered_multi_select/grid/entries.cuh"
#include "algorithms/buffered_multi_select/steps/stream.cuh"
#include "algorithms/buffered_multi_select/steps/threshold.cuh"

namespace kselect::bms {

// A block's share of a row, or of a part of it. The constructor loads the first tile.
template <class Team, int loads, bool one_tile = false, readers by = readers::several>
class row_share {
 public:
  using reader = row_reader<Team, loads, one_tile, by>;

  KSELECT_HD row_share(Team& team, const rows_view<typename Team::stored>& matrix, std::int64_t row,
                       position part = 0, position parts = 1)
      : team_(team),
        source_(team, kernels::row_at(team.simt, matrix, row), matrix.wanted, row, part, parts) {
    source_.load(0, own_);
  }

  KSELECT_HD auto minima() {
    constexpr int groups = few_groups<typename Team::stored>;
    static_assert(reader::items > groups);  // a group of one element could hide a NaN
    return minima_of<groups, reader>(team_, own_);
  }
  KSELECT_HD const typename reader::tile& first_tile() const { return own_; }
  // For a part of one tile: filter() then finds no more than two elements in the caller's share.
  KSELECT_HD void pass_over_most(const survivors<Team>& list) {
    const item_set passed = list.admitted(own_.x, list.first_without_nans()) & own_.held;
    const item_set after_one = passed & (passed - 1);
    own_.held = passed ^ (after_one & (after_one - 1));
  }

  // Enters the elements that the list admits. Returns the size of the list.
  KSELECT_HD position filter(survivors<Team>& list) {
    stream<reader>(team_, source_, list).run(own_);
    return list.finish();
  }

 private:
  Team& team_;
  reader source_;
  typename reader::tile own_;
};

}  // namespace kselect::bms
