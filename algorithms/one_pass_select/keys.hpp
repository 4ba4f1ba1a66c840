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
// Of words (kselect/dtypes.hpp) the two masks come with the call: integers have 0 for the max.
// To test whether a key is at most a bound, the sign of the *bound* may replace that of the element
// (bound_test_flip): where the signs differ, the sign decides, and it still does. So the stream
// costs one exclusive or and one compare a vector, for any direction and sign.
//
// A 16-bit value is read as the upper half of 32 bits, whose lower half is zeros (order.hpp); an
// 8-bit value as the upper byte.
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
constexpr Int flip_negative(Int bits, Int others = std::numeric_limits<Int>::max()) {
  return bits < 0 ? static_cast<Int>(bits ^ others) : bits;
}

// The masks of a row. Those of a floating-point type need no memory for `below_zero`.
template <class T, class Int>
struct key_masks {
  Int flip;  // -1 when the largest are wanted, else 0
  static constexpr Int below_zero = std::numeric_limits<Int>::max();
  static constexpr key_masks of(direction wanted) {
    return {wanted == direction::largest ? Int{-1} : Int{0}};
  }
};
template <class Bits, class Int>
struct key_masks<word<Bits>, Int> {
  Int flip, below_zero;
  // Unused low bits stay zeros: no key tells them apart.
  static constexpr key_masks of(word_order<Bits> by) {
    constexpr int beside = 8 * static_cast<int>(sizeof(Int) - sizeof(Bits));
    using bits = std::make_unsigned_t<Int>;
    const auto high = [](Bits mask) {
      return static_cast<Int>(static_cast<bits>(bits{mask} << beside));
    };
    return {high(static_cast<Bits>(by.always ^ sign_bit<word<Bits>>)), high(by.below_zero)};
  }
};

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
  key_masks<T, Int> masks;

  key_row(const T* values_, std::int64_t n_, order_t<T> wanted)
      : values(values_), n(n_), masks(key_masks<T, Int>::of(wanted)) {}

  Int key(std::int64_t i) const {
    const auto bits = static_cast<Int>(Int{signed_bits(values[i])} << beside);
    return static_cast<Int>(flip_negative(bits, masks.below_zero) ^ masks.flip);
  }
  T value(Int key) const {
    const Int bits = flip_negative(static_cast<Int>(key ^ masks.flip), masks.below_zero);
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
    if constexpr (sizeof(T) == 1) {
      return Lanes::load_upper_bytes(reinterpret_cast<const std::uint8_t*>(values + i));
    } else if constexpr (beside != 0) {
      return Lanes::load_upper_halves(reinterpret_cast<const std::uint16_t*>(values + i));
    } else {
      return Lanes::load(reinterpret_cast<const Int*>(values + i));
    }
  }
  template <class Lanes>
  typename Lanes::vector keys(typename Lanes::vector bits) const {
    return Lanes::exclusive_or(Lanes::flip_negative(bits, Lanes::set(masks.below_zero)),
                               Lanes::set(masks.flip));
  }
  // key(bits) <= bound  <=>  (bits ^ flip) <= bound, for the flip given here.
  Int bound_test_flip(Int bound) const {
    const auto turned = static_cast<Int>(bound ^ masks.flip);
    return static_cast<Int>(flip_negative(turned, masks.below_zero) ^ bound);
  }

 private:
  static constexpr int beside = 8 * static_cast<int>(sizeof(Int) - sizeof(T));  // unused bits
  static constexpr auto signed_bits(T x) {
    return std::bit_cast<std::make_signed_t<order_key_t<T>>>(x);
  }
};

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_KEYS
