#if defined(KSELECT_ONE_PASS_KEYS) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_KEYS
#undef KSELECT_ONE_PASS_KEYS
#else
#define KSELECT_ONE_PASS_KEYS
#endif

// Keys of the one-pass selection. They are signed integers, as every vector unit has a signed
// compare. A key is order.hpp's selection key with its top bit flipped. A smaller key is better,
// and every bit pattern has its place.
//
// From a value's bits, read as a signed integer, the key is
//     bits ^ (bits < 0 ? max : 0) ^ (largest wanted ? -1 : 0).
// To test whether a key is at most a bound, the sign of the *bound* may replace that of the element
// (bound_test_flip): where the signs differ, the sign decides, and it still does. So the stream
// costs one exclusive or and one compare a vector, for any direction and sign.
//
// A 16-bit value is read as the upper half of 32 bits, whose lower half is zeros (order.hpp).
// Vectors of 16-bit integers would have to be widened anyway, with their indices, wherever one is a
// hit.

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "algorithms/one_pass_select/targets.hpp"
#include "kselect/order.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

// The signed integer with the width of T, at least 32 bits.
template <class T>
using key_of = std::make_signed_t<order_word_t<T>>;

template <class Int>
inline constexpr Int best_key = std::numeric_limits<Int>::min();
template <class Int>
inline constexpr Int worst_key = std::numeric_limits<Int>::max();

template <class Int>
constexpr Int flip_negative(Int bits) {
  return bits < 0 ? static_cast<Int>(bits ^ std::numeric_limits<Int>::max()) : bits;
}

// The prefetch distance of a pass over a row, in values. Rows come from memory page after page, and
// hardware prefetchers stop at the end of a page.
template <class T>
inline constexpr std::int64_t fetched_ahead = 8192 / sizeof(T);

// A row of n values of type T (any alignment), read as keys.
template <class T>
struct key_row {
  using Int = key_of<T>;
  const T* values;
  std::int64_t n;
  Int flip;  // -1 when the largest are wanted, else 0

  key_row(const T* values_, std::int64_t n_, direction wanted)
      : values(values_), n(n_), flip(wanted == direction::largest ? Int{-1} : Int{0}) {}

  Int key(std::int64_t i) const {
    return static_cast<Int>(flip_negative(static_cast<Int>(Int{signed_bits(values[i])} << beside)) ^
                            flip);
  }
  T value(Int key) const {
    const Int bits = flip_negative(static_cast<Int>(key ^ flip));
    return std::bit_cast<T>(static_cast<order_key_t<T>>(bits >> beside));
  }
  // Prefetches `count` values from the (i + ahead)-th on. They may lie beyond the row, where
  // nothing is read.
  template <std::int64_t count>
  void prefetch(std::int64_t i, std::int64_t ahead) const {
    constexpr std::int64_t line = 64 / sizeof(T);
    const auto first = reinterpret_cast<std::uintptr_t>(values) +
                       static_cast<std::uintptr_t>(i + ahead) * sizeof(T);
    for (std::int64_t at = 0; at < count; at += line) {
      __builtin_prefetch(
          reinterpret_cast<const void*>(first + static_cast<std::uintptr_t>(at) * sizeof(T)));
    }
  }
  // The bits of Lanes::size values from the i-th on, and their keys.
  template <class Lanes>
  typename Lanes::vector bits(std::int64_t i) const {
    if constexpr (beside != 0) {
      return Lanes::load_upper_halves(reinterpret_cast<const std::uint16_t*>(values + i));
    } else {
      return Lanes::load(reinterpret_cast<const Int*>(values + i));
    }
  }
  template <class Lanes>
  typename Lanes::vector keys(typename Lanes::vector bits) const {
    return Lanes::exclusive_or(Lanes::flip_negative(bits), Lanes::set(flip));
  }

 private:
  static constexpr int beside = 8 * static_cast<int>(sizeof(Int) - sizeof(T));  // unused bits
  static constexpr auto signed_bits(T x) {
    return std::bit_cast<std::make_signed_t<order_key_t<T>>>(x);
  }
};

// key(bits) <= bound  <=>  (bits ^ flip) <= bound, for the flip given here.
template <class Int>
constexpr Int bound_test_flip(Int bound, Int row_flip) {
  return static_cast<Int>(flip_negative(static_cast<Int>(bound ^ row_flip)) ^ bound);
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_KEYS
