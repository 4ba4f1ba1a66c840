#pragma once
// Buffered multi-select: another exact end, by a block. It writes the k smallest of a list in
// order, best first, equal keys by ascending index.
//
// The elements are dealt into bins whose order is that of their elements. A bin's elements are then
// compared with each other, and the places of those up to the k-th are known. So this takes about
// as long as to narrow the list (answer.cuh), which leaves the answer in no order.
//
// Bins have equal width as floats. If a bin then has many elements, as when one value lies far from
// the others, bins have equal width as keys. Elements that equal the greatest key are often many;
// they have bins by their index. Many elements that equal another key share a bin, which takes the
// square of their number.

#include "algorithms/buffered_multi_select/steps/answer_places.cuh"
#include "algorithms/buffered_multi_select/steps/narrowing.cuh"

namespace kselect::bms {

// Of a block's static shared memory. `crowded` is 0 before.
struct dealt_counts {
  std::uint32_t crowded;  // some bin that is wanted has many elements
  position dealt;         // elements in the bins that are wanted
};

// How keys and indices become numbers of bins, which do not descend where elements ascend.
template <class T>
class binning {
 public:
  using key = key_of<T>;

  // Of keys from `low` to `high` in rows of n elements. A fourth of the bins is for ties.
  KSELECT_HD binning(key low, key high, position n, position bins, bool by_value)
      : low_(low), high_(high), apart_(bins - bins / 4) {
    const auto count = static_cast<float>(apart_), ties = static_cast<float>(bins / 4);
    last_ = count - 1;
    last_tie_ = ties - 1;
    by_index_ = ties / static_cast<float>(n);
    first_ = element<T>::value_of(low);
    const float range = element<T>::value_of(high) - first_;
    scale_ = count / range;
    by_value_ = by_value && range < infinity && scale_ < infinity;  // false with NaN
    if (!by_value_) scale_ = count / static_cast<float>(high - low);
  }

  KSELECT_HD bool is_by_value() const { return by_value_; }
  KSELECT_HD bool is_for_ties(position bin) const { return bin >= apart_; }

  KSELECT_HD position bin_of(key k, position index) const {
    if (k == high_) return apart_ + limited(static_cast<float>(index) * by_index_, last_tie_);
    const float above = by_value_ ? element<T>::value_of(k) - first_ : static_cast<float>(k - low_);
    return limited(above * scale_, last_);
  }

 private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  KSELECT_HD static position limited(float bin, float last) {
    return static_cast<position>(bin < last ? bin : last);
  }

  key low_, high_;
  position apart_;  // bins of elements that are below the greatest key
  float last_, last_tie_, by_index_, first_, scale_;
  bool by_value_;
};

// Keys have 32 bits, and elements have indices, so no two are equal.
template <class Team>
class ordered_list {
 public:
  using stored = typename Team::stored;
  using key = typename Team::key;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;
  static_assert(Team::indexed && !Team::one_warp && sizeof(key) == 4);

  // Room for as many elements as the list has lies where answer_list() says. `n`: elements of the
  // row.
  KSELECT_HD ordered_list(Team& team, dealt_counts& counts, position k, position n)
      : team_(team), counts_(counts), dealt_(answer_list(team)), k_(k), n_(n) {}

  // Writes the k smallest of the list's first `size` entries, at least k, whose keys lie in `all`.
  // All threads of the block, after a sync; all bins are zero.
  KSELECT_HD void write(const key_range<key>& all, position size, answer_places<Team>& places) {
    binning<stored> by(all.low, all.high, n_, bins(), true);
    count(by, size);
    if (counts_.crowded != 0 && by.is_by_value()) {
      team_.sync();  // all have seen that
      *own_bins() = neighbours{};
      team_.sync();
      by = binning<stored>(all.low, all.high, n_, bins(), false);
      count(by, size);
    }
    each_of(team_.memory.list, size, [&](candidate c) {
      const position to = team_.simt.atomic_add(team_.memory.bins[bin_of(by, c)], 1U);
      if (to < unwanted) dealt_[to] = c;
    });
    team_.sync();
    places.with_outputs([&](const auto& row) {
      each_of(dealt_, counts_.dealt, [&](candidate c) {
        const position place = place_in_order(bin_of(by, c), c);
        if (place < k_) places.store(row, place, c);
      });
    });
  }

 private:
  static constexpr position unwanted = 1U << 31;  // places in bins behind that of the k-th
  static constexpr position most_in_bin = 32;     // more take longer than another deal

  // The thread's bins.
  using neighbours = simt::vec<std::uint32_t, bins_each>;
  KSELECT_HD neighbours* own_bins() const {
    return reinterpret_cast<neighbours*>(team_.memory.bins) + team_.thread();
  }
  KSELECT_HD position bins() const { return position{1} << team_.shape.bin_bits; }

  KSELECT_HD static position bin_of(const binning<stored>& by, const candidate& c) {
    return by.bin_of(candidates::key(c), static_cast<position>(candidates::index(c)));
  }

  // Calls f(c) for the caller's share of a list.
  template <class F>
  KSELECT_HD void each_of(const candidate* list, position size, const F& f) const {
    for (position i = team_.thread(); i < size; i += team_.threads()) f(list[i]);
  }

  // Counts the list's elements in each bin, and replaces the counts by the places of the bins'
  // first elements. Ends with a sync.
  KSELECT_HD void count(const binning<stored>& by, position size) {
    each_of(team_.memory.list, size,
            [&](candidate c) { team_.simt.atomic_add(team_.memory.bins[bin_of(by, c)], 1U); });
    team_.sync();
    const position first = bins_each * team_.thread();  // all four are for ties, or none
    // If the number of threads is no power of two, the last ones have no bins.
    neighbours own = first < bins() ? *own_bins() : neighbours{};
    position sum = 0;
    KSELECT_UNROLL
    for (int b = 0; b < bins_each; ++b) sum += own[b];
    position begin = begin_of(sum);
    KSELECT_UNROLL
    for (int b = 0; b < bins_each; ++b) {
      const position in_bin = own[b], end = begin + in_bin;
      own[b] = begin < k_ ? begin : unwanted;
      if (in_bin > most_in_bin && begin < k_ && !by.is_for_ties(first)) counts_.crowded = 1;
      if (begin < k_ && k_ <= end) counts_.dealt = end;
      begin = end;
    }
    if (first < bins()) *own_bins() = own;
    team_.sync();
  }

  // The sum of what the threads before the caller pass.
  KSELECT_HD position begin_of(position own) {
    auto& totals = team_.shared.warp_totals;
    const position up_to = team_.scan(own);
    if (team_.lane() == simt::warp_size - 1) totals[team_.warp()] = up_to;
    team_.sync();
    const position before = team_.lane() < team_.warp() ? totals[team_.lane()] : 0;
    return up_to - own + team_.simt.reduce_add(simt::full_mask, before);
  }

  // Where wanted bins hold the places behind their last elements.
  KSELECT_HD position place_in_order(position bin, const candidate& own) const {
    position place = bin == 0 ? 0 : team_.memory.bins[bin - 1];
    const position end = team_.memory.bins[bin];
    for (position i = place; i < end; ++i) place += dealt_[i] < own ? 1U : 0U;
    return place;
  }

  Team& team_;
  dealt_counts& counts_;
  candidate* dealt_;
  position k_, n_;
};

}  // namespace kselect::bms
