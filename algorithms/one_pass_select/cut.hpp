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

#include <algorithm>
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

// A copy of what is kept of a list, which may go to the same list. Inlined, so that its members
// stay in registers.
template <class Lanes, bool with_indices>
struct kept_part {
  using Int = typename Lanes::Int;
  hit_list<Int> from;
  Int *keys, *indices;           // where it goes
  std::int64_t ties;             // how many more are wanted
  std::int64_t kept = 0, i = 0;  // elements written and read

  KSELECT_INLINED bool has_vector() const { return i + Lanes::size <= from.count; }

  // Keeps the chosen lanes of the next vector, which has these keys.
  template <class Vector, class Mask>
  KSELECT_INLINED void keep(Vector key, Mask chosen) {
    if constexpr (with_indices) {
      Lanes::store(Lanes::compress(Lanes::load(from.indices + i), chosen), indices + kept);
    }
    Lanes::store(Lanes::compress(key, chosen), keys + kept);
    kept += Lanes::count(chosen);
    i += Lanes::size;
  }
  // Keeps the elements before `end` that are below the bound, and those ties that are wanted.
  KSELECT_INLINED void keep_one_by_one(std::int64_t end, Int bound) {
    for (; i < end; ++i) {
      const Int key = from.keys[i];
      if (key > bound || (key == bound && ties-- <= 0)) continue;
      keys[kept] = key;
      if constexpr (with_indices) indices[kept] = from.indices[i];
      ++kept;
    }
  }
};

// Copies the elements of `from` below kth.key, and the first ties with it, k in all, to `to`, which
// may be the same list.
template <class Lanes, bool with_indices>
void keep_best(const hit_list<typename Lanes::Int> from, order_statistic<typename Lanes::Int> kth,
               std::int64_t k, hit_list<typename Lanes::Int>& to) {
  const auto bound = Lanes::set(kth.key);
  kept_part<Lanes, with_indices> part{from, to.keys, to.indices, k - kth.less};
  if (kth.less + kth.equal == k) {  // all ties are wanted
    while (part.has_vector()) {
      const auto key = Lanes::load(from.keys + part.i);
      part.keep(key, Lanes::less_equal(key, bound));
    }
  }
  // Vectors all of whose ties are wanted; then one vector one by one; then vectors without ties.
  while (part.has_vector()) {
    const auto key = Lanes::load(from.keys + part.i);
    const std::int64_t equal = Lanes::count(Lanes::equal(key, bound));
    if (equal > part.ties) break;
    part.ties -= equal;
    part.keep(key, Lanes::less_equal(key, bound));
  }
  part.keep_one_by_one(std::min(from.count, part.i + Lanes::size), kth.key);
  while (part.has_vector()) {
    const auto key = Lanes::load(from.keys + part.i);
    part.keep(key, Lanes::less(key, bound));
  }
  part.keep_one_by_one(from.count, kth.key);
  to.count = part.kept;
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
