#pragma once
// Buffered multi-select: a row that one warp holds in registers, with k so small that few elements
// a lane pass the threshold. There is no list: lanes write the numbers of their survivors to shared
// memory, read an equal share each, and find the k smallest in registers.
//
// For short rows a row's fixed cost exceeds that of its elements, and is mostly waiting for the
// step before. So steps are few: ballots replace a scan, and up to 32 survivors are ranked among
// the lanes. If too many survive because they tie with the threshold, lanes keep as many ties as
// are wanted. Other rows with too many survivors are left to filtered_row.

#include "algorithms/buffered_multi_select/steps/answer.cuh"
#include "algorithms/buffered_multi_select/steps/threshold.cuh"

namespace kselect::bms {

template <class Reader>
class brief_row {
 public:
  using Team = typename Reader::Team;
  using key = typename Team::key;
  using tile = typename Reader::tile;

  KSELECT_HD brief_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), k_(k) {}

  // Whether the row was selected from. If not, nothing has been written.
  template <class Answer>
  KSELECT_HD bool select(Answer& out) {
    tile own;
    row_.load(0, own);
    const plan& p = team_.shape;
    constexpr int groups = few_groups<typename Team::stored>;
    const auto [bound, no_nans] =
        threshold_of<groups, Reader>(team_, narrow_, own, p.rank, p.slack);
    const position size = leave_numbers(own, bound, no_nans);
    if (size > brief_most) return select_ties(out, bound);
    if (size < k_) return false;
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    out.write_few(size, bound,
                  [&](position i) { return row_.candidate_at(place_of(numbers()[i])); });
    return true;
  }

 private:
  // A number stands for an element: an item of a lane's tile, or the lane's element of the row's
  // ends.
  static constexpr int number_bits = 6;  // for the item among its lane's
  static constexpr position end_number = Reader::items;
  static_assert(end_number < 1U << number_bits);

  // Binary digits of a lane's survivor count. In a sorted row whole loads survive.
  static constexpr int digits = Reader::width > 8 ? 5 : Reader::width > 4 ? 4 : 3;

  // Writes the numbers of the elements not above the bound, if they fit. Returns how many there
  // are.
  KSELECT_HD position leave_numbers(const tile& own, key bound, bool no_nans) {
    const auto limit = element<typename Team::stored>::value_of(bound);
    item_set passed = not_above(own.x, limit, no_nans) & own.held;
    const bool end = row_.any_ends() && row_.has_end() && row_.key_at(row_.end_place()) <= bound;
    const position count = static_cast<position>(team_.simt.popc(passed)) + (end ? 1U : 0U);
    team_.simt.count(simt::counter::candidates, count);
    // One ballot for each digit gives the prefix sum and the total sooner than a scan.
    if (team_.simt.any(simt::full_mask, count >= 1U << digits)) return ~position{0};
    position to = 0, size = 0;
    KSELECT_UNROLL
    for (int d = 0; d < digits; ++d) {
      const std::uint32_t set = team_.simt.ballot(simt::full_mask, (count >> d & 1U) != 0);
      to += static_cast<position>(team_.simt.popc(set & team_.simt.lanemask_lt())) << d;
      size += static_cast<position>(team_.simt.popc(set)) << d;
    }
    if (size > brief_most) return size;
    const position of_lane = team_.lane() << number_bits;
    for (; passed != 0; passed &= passed - 1, ++to) {
      numbers()[to] = of_lane | static_cast<position>(team_.simt.ffs(passed) - 1);
    }
    if (end) numbers()[to] = of_lane | end_number;
    team_.sync();
    return size;
  }

  // Selects if fewer than k elements are below the bound; the others equal it. At least k are not
  // above it, unless minima of empty lanes (infinity) were counted. But if lanes are empty, no lane
  // has enough survivors to get here. The tile is read again, to free its registers until then.
  template <class Answer>
  KSELECT_HD bool select_ties(Answer& out, key bound) {
    using as_element = element<typename Team::stored>;
    tile own;
    row_.load(0, own);
    const item_set passed = not_above(own.x, as_element::value_of(bound), false) & own.held;
    const item_set below =
        bound == 0 ? 0 : not_above(own.x, as_element::value_of(bound - 1), false) & own.held;
    const bool has_end = row_.any_ends() && row_.has_end();
    const key end = has_end ? row_.key_at(row_.end_place()) : key{0};
    const bool end_below = has_end && end < bound, end_tied = has_end && end == bound;

    const position own_below =
        static_cast<position>(team_.simt.popc(below)) + (end_below ? 1U : 0U);
    const position up_to_own = team_.scan(own_below);
    const position all_below = team_.simt.shfl(simt::full_mask, up_to_own, simt::warp_size - 1);
    if (all_below >= k_) return false;
    const item_set tied = passed & ~below;
    const position own_tied = static_cast<position>(team_.simt.popc(tied)) + (end_tied ? 1U : 0U);
    const position first_tied = all_below + team_.scan(own_tied) - own_tied;
    const position of_lane = team_.lane() << number_bits;
    const auto leave = [&](item_set items, bool and_end, position to) {
      for (; items != 0 && to < k_; items &= items - 1, ++to) {
        numbers()[to] = of_lane | static_cast<position>(team_.simt.ffs(items) - 1);
      }
      if (and_end && to < k_) numbers()[to] = of_lane | end_number;
    };
    leave(below, end_below, up_to_own - own_below);
    leave(tied, end_tied, first_tied);
    team_.sync();
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    out.copy(k_, [&](position i) { return row_.candidate_at(place_of(numbers()[i])); });
    return true;
  }

  KSELECT_HD position place_of(position number) const {
    const position lane = number >> number_bits;
    const position item = number & ((1U << number_bits) - 1);
    return item == end_number ? row_.end_place(lane) : row_.place(0, static_cast<int>(item), lane);
  }
  KSELECT_HD position* numbers() const { return team_.memory.numbers(); }

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  position k_;
};

}  // namespace kselect::bms
