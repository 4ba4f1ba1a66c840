#if defined(KSELECT_ONE_PASS_SHORT_ROW) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_SHORT_ROW
#undef KSELECT_ONE_PASS_SHORT_ROW
#else
#define KSELECT_ONE_PASS_SHORT_ROW
#endif

// Rows that fit into a few vectors, without the three phases. Each key is compared with all others.
// The elements with fewer than k keys below them are the k best. They can be more than k: then the
// k-th key has ties, and the first of these are kept.
//
// m keys take m compares of all vectors that hold them, without a branch. At m = 64 a sorting
// network takes as many; below that it takes more. For k = 1 the minimum of all vectors is enough.

#include <cstdint>

#include "algorithms/one_pass_select/cut.hpp"
#include "algorithms/one_pass_select/keys.hpp"
#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

inline constexpr std::int64_t longest_short_row = 64;

// Loads the keys of a row of at most `size`, followed by the worst key.
template <class Lanes, std::int64_t size, class T>
void load_short_row(key_row<T> row, key_of<T> (&keys)[size]) {
  using Int = key_of<T>;
  const auto keys_at = [=](std::int64_t i) KSELECT_TARGET_ATTR {
    return row.template keys<Lanes>(row.template bits<Lanes>(i));
  };
  for (std::int64_t i = 0; i < size; i += Lanes::size) {
    Lanes::store(Lanes::set(worst_key<Int>), keys + i);
  }
  std::int64_t i = 0;
  for (; i + Lanes::size <= row.n; i += Lanes::size) Lanes::store(keys_at(i), keys + i);
  if (i == row.n) return;
  if (i != 0) {  // the last vector overlaps the previous one
    Lanes::store(keys_at(row.n - Lanes::size), keys + row.n - Lanes::size);
  } else {
    for (; i < row.n; ++i) keys[i] = row.key(i);
  }
}

// Stores the best of `size` keys as a list; of equal ones, the first.
template <class Lanes, bool with_indices, std::int64_t size>
void select_best(const typename Lanes::Int (&keys)[size], hit_list<typename Lanes::Int>& list) {
  using Int = typename Lanes::Int;
  auto least = Lanes::load(keys);
  for (std::int64_t i = Lanes::size; i < size; i += Lanes::size) {
    least = Lanes::min(least, Lanes::load(keys + i));
  }
  // The order of complements is reversed.
  const Int best =
      static_cast<Int>(~Lanes::largest(Lanes::exclusive_or(least, Lanes::set(Int{-1}))));
  *list.keys = best;
  list.count = 1;
  if constexpr (with_indices) {
    for (std::int64_t i = 0;; i += Lanes::size) {
      const auto equal = Lanes::equal(Lanes::load(keys + i), Lanes::set(best));
      if (!Lanes::any(equal)) continue;
      Lanes::store(Lanes::compress(Lanes::iota(static_cast<Int>(i)), equal), list.indices);
      return;
    }
  }
}

template <class Lanes, bool with_indices, std::int64_t size, class T>
void select_ranked(key_row<T> row, std::int64_t k, hit_list<key_of<T>>& list) {
  using Int = key_of<T>;
  alignas(64) Int keys[size];
  load_short_row<Lanes>(row, keys);
  if (k == 1) return select_best<Lanes, with_indices>(keys, list);
  const ranked_keys<Lanes, size> ranked(keys, row.n);
  std::int64_t kept = 0;
  ranked.for_each_below(k, row.n,
                        [&](std::int64_t first, auto of_vector, auto chosen) KSELECT_TARGET_ATTR {
                          Lanes::store(Lanes::compress(of_vector, chosen), list.keys + kept);
                          if constexpr (with_indices) {
                            const auto indices = Lanes::iota(static_cast<Int>(first));
                            Lanes::store(Lanes::compress(indices, chosen), list.indices + kept);
                          }
                          kept += Lanes::count(chosen);
                        });
  list.count = kept;
  if (kept == k) return;
  const order_statistic<Int> kth = ranked.statistic(k - 1, row.n);
  keep_best<Lanes, with_indices>(list, kth, k, list);
}

// Leaves the k best of a row of at most longest_short_row elements in the list, ascending by index.
template <class Lanes, bool with_indices, class T>
void select_short_row(key_row<T> row, std::int64_t k, hit_list<key_of<T>>& list) {
  if (row.n <= 16) {
    select_ranked<Lanes, with_indices, 16>(row, k, list);
  } else if (row.n <= 32) {
    select_ranked<Lanes, with_indices, 32>(row, k, list);
  } else if (row.n <= 48) {
    select_ranked<Lanes, with_indices, 48>(row, k, list);
  } else {
    select_ranked<Lanes, with_indices, longest_short_row>(row, k, list);
  }
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_SHORT_ROW
