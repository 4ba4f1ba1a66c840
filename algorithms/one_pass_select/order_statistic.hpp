#if defined(KSELECT_ONE_PASS_ORDER_STATISTIC) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_ORDER_STATISTIC
#undef KSELECT_ONE_PASS_ORDER_STATISTIC
#else
#define KSELECT_ONE_PASS_ORDER_STATISTIC
#endif

// The key of a given rank in a list: a vectorised Floyd-Rivest select (Floyd & Rivest 1975,
// "Expected time bounds for selection").
//
// A sample is ranked by comparing all with all, which needs no shuffles. Two of its keys around the
// wanted rank nearly always enclose the wanted key. One pass keeps the keys between them, about a
// fifth of the list, so that a list of m takes about 1.3 m reads in all. If the sample misleads,
// the side that holds the rank is kept instead. After four rounds that did not halve the list, the
// interval of keys is halved, so that no input takes more than 4 + 8 sizeof(Int) rounds.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "algorithms/one_pass_select/keys.hpp"
#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

template <class Int>
struct order_statistic {
  Int key;
  std::int64_t less, equal;  // keys of the list below it, and equal to it
};

// Every list of keys may be read and written this far beyond its end.
inline constexpr std::int64_t padding = 64;

// Keys of scratch that kth_smallest() needs for a list of m.
constexpr std::int64_t order_statistic_scratch(std::int64_t m) { return 2 * (m + padding); }

// The lanes of a vector at position i that are among the first m elements of a list.
template <class Lanes>
typename Lanes::mask lanes_within(std::int64_t i, std::int64_t m) {
  return Lanes::first(std::clamp<std::int64_t>(m - i, 0, Lanes::size));
}

// `size` keys. The rank of a key is the number of the first `valid` keys that are less.
template <class Lanes, std::int64_t size>
class ranked_keys {
 public:
  using Int = typename Lanes::Int;

  explicit ranked_keys(const Int* keys, std::int64_t valid = size) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      keys_[v] = Lanes::load(keys + v * Lanes::size);
      ranks_[v] = Lanes::set(0);
    }
    for (std::int64_t j = 0; j < valid; ++j) {
      const auto other = Lanes::set(keys[j]);
      for (std::int64_t v = 0; v < vectors; ++v) {
        ranks_[v] = Lanes::count_up(ranks_[v], Lanes::less(other, keys_[v]));
      }
    }
  }

  // The key of rank `rank` >= 0: the largest key with at most `rank` keys below it.
  Int key_of(std::int64_t rank) const {
    const auto bound = Lanes::set(static_cast<Int>(rank));
    const auto nothing = Lanes::set(best_key<Int>);
    auto most = nothing;
    for (std::int64_t v = 0; v < vectors; ++v) {
      most =
          Lanes::max(most, Lanes::select(Lanes::less_equal(ranks_[v], bound), keys_[v], nothing));
    }
    return Lanes::largest(most);
  }

  // Calls f(position, keys, chosen) for each vector, with its first key's position. Chosen are
  // those of the first `valid` keys that have fewer than `rank` below them.
  template <class F>
  void for_each_below(std::int64_t rank, std::int64_t valid, const F& f) const {
    const auto bound = Lanes::set(static_cast<Int>(rank));
    for (std::int64_t v = 0; v < vectors; ++v) {
      const std::int64_t first = v * Lanes::size;
      const auto chosen =
          Lanes::both(lanes_within<Lanes>(first, valid), Lanes::less(ranks_[v], bound));
      f(first, keys_[v], chosen);
    }
  }

  order_statistic<Int> statistic(std::int64_t rank, std::int64_t valid) const {
    const Int key = key_of(rank);
    const auto bound = Lanes::set(key);
    std::int64_t less = 0, most = 0;
    for (std::int64_t v = 0; v < vectors; ++v) {
      less += Lanes::count(Lanes::less(keys_[v], bound));
      most += Lanes::count(Lanes::less_equal(keys_[v], bound));
    }
    return {key, less, std::min(most, valid) - less};
  }

 private:
  static constexpr std::int64_t vectors = size / Lanes::size;
  static_assert(vectors * Lanes::size == size);
  typename Lanes::vector keys_[vectors], ranks_[vectors];
};

// An interval of keys, both ends included.
template <class Int>
struct key_interval {
  Int low, high;
};

struct kept {
  std::int64_t below, inside;
};

// Copies the keys of list[0..m) within the interval to `to`, in their order. `to` may be the list.
template <class Lanes>
kept keep_between(const typename Lanes::Int* list, std::int64_t m,
                  key_interval<typename Lanes::Int> between, typename Lanes::Int* to) {
  using Int = typename Lanes::Int;
  using unsigned_int = std::make_unsigned_t<Int>;
  // Shifted by `low`, the interval begins at the least integer, and one compare is enough.
  const auto down = static_cast<unsigned_int>(static_cast<unsigned_int>(best_key<Int>) -
                                              static_cast<unsigned_int>(between.low));
  const auto low = Lanes::set(between.low), shift = Lanes::set(static_cast<Int>(down));
  const auto high = Lanes::set(static_cast<Int>(static_cast<unsigned_int>(between.high) + down));
  auto below = Lanes::set(0);
  std::int64_t inside = 0, i = 0;
  const auto step = [&](auto keys, auto under, auto chosen) KSELECT_TARGET_ATTR {
    below = Lanes::count_up(below, under);
    Lanes::store(Lanes::compress(keys, chosen), to + inside);
    inside += Lanes::count(chosen);
  };
  for (; i + Lanes::size <= m; i += Lanes::size) {
    const auto keys = Lanes::load(list + i);
    step(keys, Lanes::less(keys, low), Lanes::less_equal(Lanes::add(keys, shift), high));
  }
  if (i < m) {
    const auto keys = Lanes::load(list + i);
    const auto valid = Lanes::first(m - i);
    step(keys, Lanes::both(valid, Lanes::less(keys, low)),
         Lanes::both(valid, Lanes::less_equal(Lanes::add(keys, shift), high)));
  }
  return {static_cast<std::int64_t>(Lanes::sum(below)), inside};
}

// Two keys of a sample of the list, within `range`, that should enclose the key of rank `rank`; if
// `margin` is 0, one key twice.
template <class Lanes, std::int64_t size>
key_interval<typename Lanes::Int> enclosing_pivots(const typename Lanes::Int* list, std::int64_t m,
                                                   std::int64_t rank, float margin,
                                                   key_interval<typename Lanes::Int> range) {
  using Int = typename Lanes::Int;
  alignas(64) Int sample[size];
  const std::int64_t step = m / size;
  for (std::int64_t j = 0; j < size; ++j) sample[j] = list[j * step + step / 2];
  const ranked_keys<Lanes, size> ranked(sample);
  const float share = static_cast<float>(rank) / static_cast<float>(m);
  const float spread = margin * (std::sqrt(static_cast<float>(size) * share * (1 - share)) + 0.5F);
  const float centre = share * static_cast<float>(size);
  const auto from = static_cast<std::int64_t>(std::floor(centre - spread));
  const auto to = static_cast<std::int64_t>(std::ceil(centre + spread));
  key_interval<Int> pivots = range;
  if (from >= 0) pivots.low = ranked.key_of(std::min(from, size - 1));
  if (margin == 0) {
    pivots.high = pivots.low;
  } else if (to < size) {
    pivots.high = ranked.key_of(to);
  }
  return pivots;
}

// The statistic of a list of at most `size` keys.
template <class Lanes, std::int64_t size>
order_statistic<typename Lanes::Int> small_statistic(const typename Lanes::Int* list,
                                                     std::int64_t m, std::int64_t rank) {
  using Int = typename Lanes::Int;
  alignas(64) Int keys[size + padding];
  for (std::int64_t i = 0; i < size; i += Lanes::size) {
    const auto valid = lanes_within<Lanes>(i, m);
    Lanes::store(Lanes::select(valid, Lanes::load(list + i), Lanes::set(worst_key<Int>)), keys + i);
  }
  return ranked_keys<Lanes, size>(keys, m).statistic(rank, m);
}

// The key with `rank` keys before it in the order of list[0..m), 0 <= rank < m. Leaves the list
// unchanged. `scratch` holds order_statistic_scratch(m) keys.
template <class Lanes>
order_statistic<typename Lanes::Int> kth_smallest(const typename Lanes::Int* list, std::int64_t m,
                                                  std::int64_t rank, typename Lanes::Int* scratch) {
  using Int = typename Lanes::Int;
  Int* const halves[2] = {scratch, scratch + m + padding};
  key_interval<Int> range{best_key<Int>, worst_key<Int>};
  std::int64_t less = 0;
  for (int round = 0, idle = 0; m > 64; ++round) {
    key_interval<Int> pivots = range;
    const float margin = idle == 0 ? 1.4F : 0.0F;
    if (idle > 3) {
      pivots.high = std::midpoint(range.low, range.high);
    } else if (m >= 512) {
      pivots = enclosing_pivots<Lanes, 64>(list, m, rank, margin, range);
    } else {
      pivots = enclosing_pivots<Lanes, 32>(list, m, rank, margin, range);
    }
    Int* const to = halves[round % 2];
    kept found = keep_between<Lanes>(list, m, pivots, to);
    if (rank < found.below) {
      range.high = pivots.low - 1;
      found = keep_between<Lanes>(list, m, range, to);
    } else if (rank >= found.below + found.inside) {
      range.low = pivots.high + 1;
      found = keep_between<Lanes>(list, m, range, to);
    } else {
      range = pivots;
    }
    if (range.low == range.high) return {range.low, less + found.below, found.inside};
    idle += 2 * found.inside > m;
    less += found.below;
    rank -= found.below;
    list = to;
    m = found.inside;
  }
  auto last = m <= 32 ? small_statistic<Lanes, 32>(list, m, rank)
                      : small_statistic<Lanes, 64>(list, m, rank);
  last.less += less;
  return last;
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_ORDER_STATISTIC
