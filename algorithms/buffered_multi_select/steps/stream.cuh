#pragma once
// Buffered multi-select: compares a team's part of a row with the bound; elements not above it
// enter the list.

#include "algorithms/buffered_multi_select/steps/survivors.cuh"

namespace kselect::bms {

// `many`: several elements a lane and tile are expected to pass.
template <class Reader, bool many = false>
class stream {
 public:
  using Team = typename Reader::Team;
  using value = typename Team::value;
  using tile = typename Reader::tile;

  KSELECT_HD stream(Team& team, Reader& row, survivors<Team>& list)
      : team_(team), row_(row), list_(list) {}

  // `own`: the caller's part of tile 0; later tiles overwrite it. Nothing is prefetched: without a
  // second tile in registers more warps fit, and their loads overlap.
  KSELECT_HD void run(tile& own) {
    for (position t = 0; t < row_.tiles(); ++t) {
      if (t != 0) row_.load(t, own);
      const item_set admitted = filter(own, t == 0);
      const auto again = [&] {  // reads again: the tile need not stay in registers meanwhile
        row_.load(t, own);
        return list_.admitted(own.x, false);
      };
      if constexpr (many) {
        list_.enter_many(row_, own, t, admitted, again);
      } else {
        list_.enter(
            admitted, [&](int i) { return row_.candidate_at(row_.place(t, i)); }, again);
      }
    }
    if (!row_.any_ends()) return;
    const item_set end =
        row_.has_end() && list_.admits(row_.key_at(row_.end_place())) ? item_set{1} : 0;
    list_.enter(end, [&](int) { return row_.candidate_at(row_.end_place()); });
  }

 private:
  // The items not above the bound. Most tiles of a long row have none for a warp; one comparison
  // with the smallest element shows it. The first tile has some, as the bound comes from it.
  KSELECT_HD item_set filter(const tile& own, bool first) {
    bool no_nans;
    if (first) {
      no_nans = list_.first_without_nans();
    } else {
      value least = own.x[0];
      KSELECT_UNROLL
      for (int i = 1; i < Reader::items; ++i) least = team_.simt.smaller(least, own.x[i]);
      if (team_.simt.all(simt::full_mask, list_.rejects_from(least))) return 0;
      no_nans = !is_nan(least);
    }
    return list_.admitted(own.x, no_nans) & own.held;
  }

  Team& team_;
  Reader& row_;
  survivors<Team>& list_;
};

}  // namespace kselect::bms
