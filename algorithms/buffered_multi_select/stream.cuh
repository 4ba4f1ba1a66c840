#pragma once
// Buffered multi-select: a team's part of a row goes past the bound, and what is not above it
// enters the list.

#include "algorithms/buffered_multi_select/survivors.cuh"

namespace kselect::bms {

template <class Team, int loads>
class stream {
 public:
  using value = typename Team::value;
  using reader = row_reader<Team, loads>;
  using tile = typename reader::tile;

  KSELECT_HD stream(Team& team, reader& row, survivors<Team>& list)
      : team_(team), row_(row), list_(list) {}

  // `own`: the caller's part of tile 0, which is overwritten by those that follow. Nothing is
  // fetched ahead: without a second tile in registers more warps fit, and their loads overlap.
  KSELECT_HD void run(tile& own) {
    const position tiles = team_.shape.tiles;
    const position parts = tiles + (row_.any_ends() ? 1 : 0);
    for (position t = 0; t < parts; ++t) {
      item_set admitted = 0;
      if (t < tiles) {
        if (t != 0) row_.load(t, own);
        admitted = filter(own);
      } else if (row_.has_end()) {
        admitted = list_.admits(row_.key_at(row_.end_place())) ? 1U : 0U;
      }
      list_.enter(admitted, [&](int i) { return row_.candidate_at(row_.place(t, i)); });
    }
  }

 private:
  // What is not above the bound. Most tiles of a long row have nothing for a warp: one comparison
  // with the smallest element shows it.
  KSELECT_HD item_set filter(const tile& own) {
    value least = own.x[0];
    KSELECT_UNROLL
    for (int i = 1; i < reader::items; ++i) least = team_.simt.smaller(least, own.x[i]);
    if (team_.simt.all(simt::full_mask, list_.rejects_from(least))) return 0;
    item_set admitted = 0;
    KSELECT_UNROLL
    for (int i = 0; i < reader::items; ++i) {
      if (list_.admits_value(own.x[i])) admitted |= item_set{1} << i;
    }
    return admitted & own.held;
  }

  Team& team_;
  reader& row_;
  survivors<Team>& list_;
};

}  // namespace kselect::bms
