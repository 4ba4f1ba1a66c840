#if defined(KSELECT_ONE_PASS_SELECT_ROW) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_SELECT_ROW
#undef KSELECT_ONE_PASS_SELECT_ROW
#else
#define KSELECT_ONE_PASS_SELECT_ROW
#endif

// Selection from one row: threshold, stream, cut; short rows in one step.

#include <algorithm>
#include <cstdint>

#include "algorithms/one_pass_select/cut.hpp"
#include "algorithms/one_pass_select/short_row.hpp"
#include "algorithms/one_pass_select/stream.hpp"
#include "algorithms/one_pass_select/targets.hpp"
#include "algorithms/one_pass_select/threshold.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

// How to search a row of n for its k best, and the scratch for it.
struct plan {
  std::int64_t n, k;
  sampling sample;        // groups == 0: the whole row is the list
  std::int64_t capacity;  // of the hit list

  // With fewer elements for each wanted one, a threshold costs more than it saves.
  static constexpr std::int64_t least_ratio = 10;

  static std::int64_t longest_without_threshold(std::int64_t k) {
    return std::max<std::int64_t>(longest_short_row, least_ratio * k - 1);
  }
  static plan of(std::int64_t n, std::int64_t k) {
    plan p{n, k, {}, n};
    if (n > longest_short_row && n >= least_ratio * k) p.sample = plan_sampling(n, k);
    if (p.sample.groups != 0) p.capacity = std::min(n + 256, list_capacity(k));
    return p;
  }
  // Keys of scratch beyond the list.
  std::int64_t scratch() const {
    return std::max(order_statistic_scratch(capacity), threshold_scratch(sample));
  }
};

// Stores the keys of a whole row as a list.
template <class Lanes, bool with_indices, class T>
void take_all(key_row<T> row, hit_list<key_of<T>>& list) {
  using Int = key_of<T>;
  Int *const keys = list.keys, *const indices = list.indices;
  std::int64_t i = 0;
  for (; i + Lanes::size <= row.n; i += Lanes::size) {
    row.template prefetch<Lanes::size>(i, fetched_ahead<T>);
    Lanes::store(row.template keys<Lanes>(row.template bits<Lanes>(i)), keys + i);
    if constexpr (with_indices) Lanes::store(Lanes::iota(static_cast<Int>(i)), indices + i);
  }
  for (; i < row.n; ++i) {
    keys[i] = row.key(i);
    if constexpr (with_indices) indices[i] = static_cast<Int>(i);
  }
  list.count = row.n;
}

// Fills the list with hits, ascending by index. The row's k best are among them.
template <class Lanes, bool with_indices, class T>
void find_hits(key_row<T> row, const plan& how, hit_list<key_of<T>>& list, key_of<T>* scratch) {
  list.count = 0;
  if (how.n <= longest_short_row) {
    select_short_row<Lanes, with_indices>(row, how.k, list);
  } else if (how.sample.groups == 0) {
    take_all<Lanes, with_indices>(row, list);
  } else {
    const auto bound = threshold<Lanes>(row, how.k, how.sample, scratch);
    stream<Lanes, with_indices>(row, 0, row.n, how.k, bound, list, how.capacity, scratch);
  }
}

// Leaves the row's k best in the list, ascending by index, and returns the k-th best key.
template <class Lanes, bool with_indices, class T>
key_of<T> select_row(key_row<T> row, const plan& how, hit_list<key_of<T>>& list,
                     key_of<T>* scratch) {
  find_hits<Lanes, with_indices>(row, how, list, scratch);
  return cut<Lanes, with_indices>(list, how.k, scratch);
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_SELECT_ROW
