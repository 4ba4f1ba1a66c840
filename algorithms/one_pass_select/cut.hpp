#if defined(KSELECT_ONE_PASS_CUT) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_CUT
#undef KSELECT_ONE_PASS_CUT
#else
#define KSELECT_ONE_PASS_CUT
#endif

// Phase 3: cuts a list of hits to its k best, in place and in order.
//
// order_statistic.hpp finds the k-th best key. One pass of compress then keeps the elements below
// it and the first of those equal to it, as many as are wanted. The list is always in ascending
// order of index, so the first have the smallest indices.

#include <cstdint>

#include "algorithms/one_pass_select/order_statistic.hpp"
#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

// Keys and their indices (as unsigned) in the row, ascending by index. `indices` is unused if only
// values are wanted.
template <class Int>
struct hit_list {
  Int* keys;
  Int* indices;
  std::int64_t count;
};

// Copies the elements of `from` below kth.key, and the first ties with it, k in all, to `to`, which
// may be the same list.
template <class Lanes, bool with_indices>
void keep_best(const hit_list<typename Lanes::Int> from, order_statistic<typename Lanes::Int> kth,
               std::int64_t k, hit_list<typename Lanes::Int>& to) {
  using Int = typename Lanes::Int;
  const auto bound = Lanes::set(kth.key);
  Int *const keys = to.keys, *const indices = to.indices;
  std::int64_t ties = k - kth.less, kept = 0, i = 0;
  const auto move = [=](std::int64_t at, std::int64_t from_at, auto key,
                        auto chosen) KSELECT_TARGET_ATTR {
    if constexpr (with_indices) {
      Lanes::store(Lanes::compress(Lanes::load(from.indices + from_at), chosen), indices + at);
    }
    Lanes::store(Lanes::compress(key, chosen), keys + at);
    return at + Lanes::count(chosen);
  };
  if (kth.less + kth.equal == k) {  // all ties are wanted
    for (; i + Lanes::size <= from.count; i += Lanes::size) {
      const auto key = Lanes::load(from.keys + i);
      kept = move(kept, i, key, Lanes::less_equal(key, bound));
    }
  }
  // Vectors all of whose ties are wanted; then one vector one by one; then vectors without ties.
  for (; i + Lanes::size <= from.count; i += Lanes::size) {
    const auto key = Lanes::load(from.keys + i);
    const std::int64_t equal = Lanes::count(Lanes::equal(key, bound));
    if (equal > ties) break;
    ties -= equal;
    kept = move(kept, i, key, Lanes::less_equal(key, bound));
  }
  const auto one_by_one = [&](std::int64_t end) KSELECT_TARGET_ATTR {
    for (; i < end; ++i) {
      const Int key = from.keys[i];
      if (key > kth.key || (key == kth.key && ties-- <= 0)) continue;
      keys[kept] = key;
      if constexpr (with_indices) indices[kept] = from.indices[i];
      ++kept;
    }
  };
  one_by_one(std::min(from.count, i + Lanes::size));
  for (; i + Lanes::size <= from.count; i += Lanes::size) {
    const auto key = Lanes::load(from.keys + i);
    kept = move(kept, i, key, Lanes::less(key, bound));
  }
  one_by_one(from.count);
  to.count = kept;
}

// Cuts the list to its k best, 1 <= k <= count, and returns the k-th best key. `scratch` holds
// order_statistic_scratch(count) keys.
template <class Lanes, bool with_indices>
typename Lanes::Int cut(hit_list<typename Lanes::Int>& list, std::int64_t k,
                        typename Lanes::Int* scratch) {
  const auto kth = kth_smallest<Lanes>(list.keys, list.count, k - 1, scratch);
  keep_best<Lanes, with_indices>(list, kth, k, list);
  return kth.key;
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_CUT
