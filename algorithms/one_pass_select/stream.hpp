#pragma once
// Phase 2: one pass over the row, one compare an element; what is at or below the bound is a hit.
//
// Four vectors are compared at a time, and most of the time that is all. Hits are compressed into
// the list without a branch of their own. When the list is full it is cut to its k best, whose last
// one is the new bound, and a strict one: the list now holds k elements with smaller indices.

#include <algorithm>
#include <cstdint>

#include "algorithms/one_pass_select/cut.hpp"

namespace kselect::one_pass {

// Elements that a list has room for. A cut every max(k, 512) hits costs little, and the stricter
// bound that it brings spares the row many a hit.
constexpr std::int64_t list_capacity(std::int64_t k) { return k + std::max<std::int64_t>(k, 512); }

// Streams the row's elements [first, last) into `list`, whose indices they follow; `bound` is the
// worst key that may enter. At the end the list holds at least k elements, if it and the range have
// that many at or below the bound, and among them the k best. `capacity` > k + 4 * Lanes::size; the
// list's arrays are longer by `padding`.
template <class Lanes, bool with_indices, class T>
void stream(key_row<T> row, std::int64_t first, std::int64_t last, std::int64_t k, key_of<T> bound,
            hit_list<key_of<T>>& list, std::int64_t capacity, key_of<T>* scratch) {
  using Int = key_of<T>;
  constexpr std::int64_t step = Lanes::size, block = 4 * step;
  // Locals, because a store through a vector may alias anything that lies in memory.
  Int *const keys = list.keys, *const indices = list.indices;
  std::int64_t count = list.count;
  auto flip = Lanes::set(bound_test_flip(bound, row.flip));
  auto limit = Lanes::set(bound);
  const auto enter = [=](std::int64_t at, std::int64_t i, auto bits, auto chosen) {
    Lanes::store(Lanes::compress(row.template keys<Lanes>(bits), chosen), keys + at);
    if constexpr (with_indices) {
      Lanes::store(Lanes::compress(Lanes::iota(static_cast<Int>(i)), chosen), indices + at);
    }
    return at + Lanes::count(chosen);
  };
  std::int64_t i = first;
  for (; i + block <= last; i += block) {
    row.template prefetch<block>(i, fetched_ahead<T>);
    const auto a = row.template bits<Lanes>(i), b = row.template bits<Lanes>(i + step);
    const auto c = row.template bits<Lanes>(i + 2 * step),
               d = row.template bits<Lanes>(i + 3 * step);
    const auto test_a = Lanes::exclusive_or(a, flip), test_b = Lanes::exclusive_or(b, flip);
    const auto test_c = Lanes::exclusive_or(c, flip), test_d = Lanes::exclusive_or(d, flip);
    const auto least = Lanes::min(Lanes::min(test_a, test_b), Lanes::min(test_c, test_d));
    if (!Lanes::any(Lanes::less_equal(least, limit))) continue;
    count = enter(count, i, a, Lanes::less_equal(test_a, limit));
    count = enter(count, i + step, b, Lanes::less_equal(test_b, limit));
    count = enter(count, i + 2 * step, c, Lanes::less_equal(test_c, limit));
    count = enter(count, i + 3 * step, d, Lanes::less_equal(test_d, limit));
    if (count + block <= capacity) continue;
    list.count = count;
    bound = cut<Lanes, with_indices>(list, k, scratch);
    count = list.count;
    if (bound == best_key<Int>) return;  // nothing can be better
    --bound;
    flip = Lanes::set(bound_test_flip(bound, row.flip));
    limit = Lanes::set(bound);
  }
  for (; i < last; ++i) {
    const Int key = row.key(i);
    keys[count] = key;
    if constexpr (with_indices) indices[count] = static_cast<Int>(i);
    count += key <= bound;
  }
  list.count = count;
}

}  // namespace kselect::one_pass
