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

// What a pass over a row changes: the bound, and the list of hits. Every function is inlined, so
// that all of this stays in registers: a store through a vector may alias anything in memory.
template <class Lanes, bool with_indices, class T>
class hits_of {
 public:
  using Int = key_of<T>;
  static constexpr std::int64_t step = Lanes::size, block = 4 * step;
  static constexpr std::int64_t batch = 64;  // blocks: at most 16 KiB, which stay in cache

  KSELECT_INLINED hits_of(key_row<T> row, key_of<T> bound, hit_list<Int>& list, std::int64_t k,
                          std::int64_t capacity, Int* scratch)
      : row_(row),
        list_(list),
        k_(k),
        capacity_(capacity),
        scratch_(scratch),
        keys_(list.keys),
        indices_(list.indices),
        count_(list.count),
        bound_(bound),
        flip_(Lanes::set(row.bound_test_flip(bound))),
        limit_(Lanes::set(bound)) {}

  KSELECT_INLINED Int bound() const { return bound_; }

  // Each of these three takes the hits of blocks from `i` on, and moves `i` behind them. They
  // return false if no later element can be better. `found` counts blocks with hits.

  // Enters every block, until a cut makes hits fewer.
  KSELECT_INLINED bool take_all(std::int64_t& i, std::int64_t end) {
    for (const Int before = bound_; i < end && bound_ == before; i += block) {
      row_.template prefetch<block>(i, fetched_ahead<T>);
      if (!take(i)) return false;
    }
    return true;
  }
  // Tests each block, and enters those with hits.
  KSELECT_INLINED bool take_few(std::int64_t& i, std::int64_t until, std::int64_t& found) {
    for (; i < until; i += block) {
      row_.template prefetch<block>(i, fetched_ahead<T>);
      if (!has_hits(i)) continue;
      ++found;
      if (!take(i)) return false;
    }
    return true;
  }
  // Notes a batch's blocks with hits, then enters them.
  KSELECT_INLINED bool take_some(std::int64_t& i, std::int64_t until, std::int64_t& found) {
    std::int64_t with_hits[batch];
    for (; i < until; i += block) {
      row_.template prefetch<block>(i, fetched_ahead<T>);
      with_hits[found] = i;
      found += has_hits(i);
    }
    for (std::int64_t f = 0; f < found; ++f) {
      if (!take(with_hits[f])) return false;
    }
    return true;
  }

  // Takes the elements [i, last), fewer than a block, one by one, and ends the pass.
  KSELECT_INLINED void take_rest(std::int64_t i, std::int64_t last) {
    for (; i < last; ++i) {
      const Int key = row_.key(i);
      keys_[count_] = key;
      if constexpr (with_indices) indices_[count_] = static_cast<Int>(i);
      count_ += key <= bound_;
    }
    list_.count = count_;
  }

 private:
  using vector = typename Lanes::vector;

  KSELECT_INLINED vector load(std::int64_t at) const { return row_.template bits<Lanes>(at); }
  KSELECT_INLINED vector test(vector bits) const { return Lanes::exclusive_or(bits, flip_); }
  KSELECT_INLINED bool has_hits(std::int64_t at) const {
    const auto two = Lanes::min(test(load(at)), test(load(at + step)));
    const auto others = Lanes::min(test(load(at + 2 * step)), test(load(at + 3 * step)));
    return Lanes::any(Lanes::less_equal(Lanes::min(two, others), limit_));
  }

  // Enters the hits of a block; false if no later element can be better.
  KSELECT_INLINED bool take(std::int64_t at) {
    const auto a = load(at), b = load(at + step);
    const auto c = load(at + 2 * step), d = load(at + 3 * step);
    enter(at, a);
    enter(at + step, b);
    enter(at + 2 * step, c);
    enter(at + 3 * step, d);
    return count_ + block <= capacity_ || tighten();
  }
  KSELECT_INLINED void enter(std::int64_t i, vector bits) {
    const auto chosen = Lanes::less_equal(test(bits), limit_);
    Lanes::store(Lanes::compress(row_.template keys<Lanes>(bits), chosen), keys_ + count_);
    if constexpr (with_indices) {
      Lanes::store(Lanes::compress(Lanes::iota(static_cast<Int>(i)), chosen), indices_ + count_);
    }
    count_ += Lanes::count(chosen);
  }
  // Cuts a full list; false if no later element can be better than its last.
  KSELECT_INLINED bool tighten() {
    list_.count = count_;
    bound_ = cut<Lanes, with_indices>(list_, k_, scratch_);
    count_ = list_.count;
    if (bound_ == best_key<Int>) return false;
    --bound_;
    flip_ = Lanes::set(row_.bound_test_flip(bound_));
    limit_ = Lanes::set(bound_);
    return true;
  }

  key_row<T> row_;
  hit_list<Int>& list_;
  std::int64_t k_, capacity_;
  Int *scratch_, *keys_, *indices_;
  std::int64_t count_;
  Int bound_;
  vector flip_, limit_;  // of the bound
};

// Streams the row's elements [first, last) into `list`, behind smaller indices. `bound` is the
// worst key that may enter. At the end the list holds the k best, if it and the range have k
// elements at or below the bound. `capacity` > k + 4 * Lanes::size; the list's arrays have
// `padding` more elements.
template <class Lanes, bool with_indices, class T>
void stream(key_row<T> row, std::int64_t first, std::int64_t last, std::int64_t k, key_of<T> bound,
            hit_list<key_of<T>>& list, std::int64_t capacity, key_of<T>* scratch) {
  using pass = hits_of<Lanes, with_indices, T>;
  constexpr std::int64_t block = pass::block, batch = pass::batch;
  pass hits(row, bound, list, k, capacity, scratch);
  const std::int64_t end = first + (last - first) / block * block;
  std::int64_t i = first;
  enum { few, some, most } had_hits = some;  // of the last batch's blocks
  while (i < end) {
    if (had_hits == most) {
      if (!hits.take_all(i, end)) return;
      had_hits = some;
      continue;
    }
    const key_of<T> before = hits.bound();
    const std::int64_t until = std::min(end, i + batch * block);
    std::int64_t found = 0;
    if (!(had_hits == few ? hits.take_few(i, until, found) : hits.take_some(i, until, found))) {
      return;
    }
    const bool as_before = hits.bound() == before;
    had_hits = found <= batch / 8 ? few : as_before && found >= batch / 8 * 7 ? most : some;
  }
  hits.take_rest(i, last);
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_STREAM
