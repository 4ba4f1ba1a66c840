#if defined(KSELECT_ONE_PASS_STREAM) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_STREAM
#undef KSELECT_ONE_PASS_STREAM
#else
#define KSELECT_ONE_PASS_STREAM
#endif

// Phase 2: one pass over the row, with one compare an element. An element at or below the bound is
// a hit.
//
// A block of four vectors is tested at a time. If few blocks have hits, a branch to a block's hits
// is well predicted. If some have hits and others none, the branch would be mispredicted, which
// would cost more than everything else. Blocks with hits are then noted without a branch and read
// again. If most have hits, each is entered without a test. The hits of a batch of blocks decide
// how the next is handled.
//
// Hits are compressed into the list without a branch. A full list is cut to its k best. Their last
// is the new bound, and a strict one, as the list has k elements with smaller indices.

#include <algorithm>
#include <cstdint>

#include "algorithms/one_pass_select/cut.hpp"
#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

// Elements that a list has room for. A cut every max(k, 512) hits costs little, and its stricter
// bound saves many hits.
constexpr std::int64_t list_capacity(std::int64_t k) { return k + std::max<std::int64_t>(k, 512); }

// Streams the row's elements [first, last) into `list`, behind smaller indices. `bound` is the
// worst key that may enter. At the end the list holds the k best, if it and the range have k
// elements at or below the bound. `capacity` > k + 4 * Lanes::size; the list's arrays have
// `padding` more elements.
template <class Lanes, bool with_indices, class T>
void stream(key_row<T> row, std::int64_t first, std::int64_t last, std::int64_t k, key_of<T> bound,
            hit_list<key_of<T>>& list, std::int64_t capacity, key_of<T>* scratch) {
  using Int = key_of<T>;
  constexpr std::int64_t step = Lanes::size, block = 4 * step;
  constexpr std::int64_t batch = 64;  // blocks: at most 16 KiB, which stay in cache
  // Locals, because a store through a vector may alias anything in memory.
  Int *const keys = list.keys, *const indices = list.indices;
  std::int64_t count = list.count;
  auto flip = Lanes::set(row.bound_test_flip(bound));
  auto limit = Lanes::set(bound);
  const auto enter = [=](std::int64_t at, std::int64_t i, auto bits,
                         auto chosen) KSELECT_TARGET_ATTR {
    Lanes::store(Lanes::compress(row.template keys<Lanes>(bits), chosen), keys + at);
    if constexpr (with_indices) {
      Lanes::store(Lanes::compress(Lanes::iota(static_cast<Int>(i)), chosen), indices + at);
    }
    return at + Lanes::count(chosen);
  };
  const auto load = [&](std::int64_t at)
                        KSELECT_TARGET_ATTR { return row.template bits<Lanes>(at); };
  const auto test = [&](auto bits) KSELECT_TARGET_ATTR { return Lanes::exclusive_or(bits, flip); };
  const auto is_hit = [&](auto bits)
                          KSELECT_TARGET_ATTR { return Lanes::less_equal(test(bits), limit); };
  const auto has_hits = [&](std::int64_t at) KSELECT_TARGET_ATTR {
    const auto two = Lanes::min(test(load(at)), test(load(at + step)));
    const auto others = Lanes::min(test(load(at + 2 * step)), test(load(at + 3 * step)));
    return Lanes::any(Lanes::less_equal(Lanes::min(two, others), limit));
  };
  // Enters a block's hits; false if no later element can be better. Inlined three times: out of
  // line, it would keep the vectors that it changes in memory.
  const auto take = [&](std::int64_t at) KSELECT_TARGET_ATTR __attribute__((always_inline)) {
    const auto a = load(at), b = load(at + step);
    const auto c = load(at + 2 * step), d = load(at + 3 * step);
    count = enter(count, at, a, is_hit(a));
    count = enter(count, at + step, b, is_hit(b));
    count = enter(count, at + 2 * step, c, is_hit(c));
    count = enter(count, at + 3 * step, d, is_hit(d));
    if (count + block <= capacity) return true;
    list.count = count;
    bound = cut<Lanes, with_indices>(list, k, scratch);
    count = list.count;
    if (bound == best_key<Int>) return false;
    --bound;
    flip = Lanes::set(row.bound_test_flip(bound));
    limit = Lanes::set(bound);
    return true;
  };
  const std::int64_t end = first + (last - first) / block * block;
  std::int64_t i = first;
  enum { few, some, most } had_hits = some;  // of the last batch's blocks
  while (i < end) {
    const Int bound_before = bound;
    if (had_hits == most) {  // until a cut makes hits fewer
      for (; i < end && bound == bound_before; i += block) {
        row.template prefetch<block>(i, fetched_ahead<T>);
        if (!take(i)) return;
      }
      had_hits = some;
      continue;
    }
    const std::int64_t until = std::min(end, i + batch * block);
    std::int64_t found = 0;
    if (had_hits == few) {
      for (; i < until; i += block) {
        row.template prefetch<block>(i, fetched_ahead<T>);
        if (!has_hits(i)) continue;
        ++found;
        if (!take(i)) return;
      }
    } else {
      std::int64_t with_hits[batch];
      for (; i < until; i += block) {
        row.template prefetch<block>(i, fetched_ahead<T>);
        with_hits[found] = i;
        found += has_hits(i);
      }
      for (std::int64_t f = 0; f < found; ++f) {
        if (!take(with_hits[f])) return;
      }
    }
    const bool as_before = bound == bound_before;
    had_hits = found <= batch / 8 ? few : as_before && found >= batch / 8 * 7 ? most : some;
  }
  for (; i < last; ++i) {
    const Int key = row.key(i);
    keys[count] = key;
    if constexpr (with_indices) indices[count] = static_cast<Int>(i);
    count += key <= bound;
  }
  list.count = count;
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_STREAM
