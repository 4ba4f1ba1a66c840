#pragma once
// The one total order that selection and verification share.
//
// IEEE 754 totalOrder on bit patterns: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. It orders
// every bit pattern, so no input is undefined and no value is reserved as a sentinel. (`operator<`
// on floats is no strict weak order if a NaN is present: std::nth_element is then undefined
// behaviour.)
//
// `order_key` maps a value to an unsigned integer of the same width whose `<` is that order. It
// flips all bits of a negative number and the sign bit of a positive one. `selection_key` flips the
// key once more for the largest: in both directions *a smaller key is a better key*.
//
// The key depends only on the width of the type, not on its exponent's width. So float16 and
// bfloat16 with equal bits have equal keys.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kselect/float16.hpp"
#include "kselect/hd.hpp"

namespace kselect {

enum class direction : std::uint8_t { smallest, largest };

// Where NaN stands. total_order: each NaN is a key like any other. last, first: after or before all
// numbers in either direction, as NumPy sorts; all NaNs then tie, whatever their sign and bits.
enum class nan_order : std::uint8_t { total_order, last, first };

namespace detail {
template <class T>
struct order_key_of;
template <>
struct order_key_of<float16> {
  using type = std::uint16_t;
};
template <>
struct order_key_of<bfloat16> {
  using type = std::uint16_t;
};
template <>
struct order_key_of<float> {
  using type = std::uint32_t;
};
template <>
struct order_key_of<double> {
  using type = std::uint64_t;
};
}  // namespace detail

// The unsigned integer with the width of T.
template <class T>
using order_key_t = typename detail::order_key_of<T>::type;

// An unsigned word that holds a key and is wide enough for atomics and shuffles.
template <class T>
using order_word_t = std::conditional_t<sizeof(T) == 2, std::uint32_t, order_key_t<T>>;

template <class T>
inline constexpr auto sign_bit = static_cast<order_key_t<T>>(order_key_t<T>{1}
                                                             << (8 * sizeof(T) - 1));

// The bits of +infinity: all exponent bits set.
template <class T>
inline constexpr auto infinity_bits = order_key_t<T>{0x7f800000U};
template <>
inline constexpr auto infinity_bits<double> = order_key_t<double>{0x7ff0000000000000ULL};
template <>
inline constexpr auto infinity_bits<float16> = order_key_t<float16>{0x7c00U};
template <>
inline constexpr auto infinity_bits<bfloat16> = order_key_t<bfloat16>{0x7f80U};

template <class T>
KSELECT_HD constexpr order_key_t<T> bits_of(T value) {
  return std::bit_cast<order_key_t<T>>(value);
}

template <class T>
KSELECT_HD constexpr order_key_t<T> order_key(T value) {
  // Flips all bits if negative, else only the sign. Branch-free, it takes two instructions.
  const order_key_t<T> bits = bits_of(value);
  const auto negative = static_cast<order_key_t<T>>(0 - (bits >> (8 * sizeof(T) - 1)));
  return static_cast<order_key_t<T>>(bits ^ (negative | sign_bit<T>));
}

// Inverse of order_key, bit for bit.
template <class T>
KSELECT_HD constexpr T from_order_key(order_key_t<T> key) {
  const auto bits =
      static_cast<order_key_t<T>>((key & sign_bit<T>) != 0 ? key ^ sign_bit<T> : ~key);
  return std::bit_cast<T>(bits);
}

template <class T>
KSELECT_HD constexpr order_key_t<T> selection_key(T value, direction wanted) {
  const order_key_t<T> key = order_key(value);
  return wanted == direction::smallest ? key : static_cast<order_key_t<T>>(~key);
}

template <class T>
KSELECT_HD constexpr T from_selection_key(order_key_t<T> key, direction wanted) {
  return from_order_key<T>(wanted == direction::smallest ? key : static_cast<order_key_t<T>>(~key));
}

// The key with -0 mapped to +0, for contracts that promise `zero_policy::merged`.
template <class T>
KSELECT_HD constexpr order_key_t<T> selection_key_zeros_merged(T value, direction wanted) {
  const bool zero = static_cast<order_key_t<T>>(bits_of(value) << 1) == 0;
  return selection_key(zero ? T{} : value, wanted);
}

// Both test bits, so that -ffast-math cannot optimise them away.
template <class T>
KSELECT_HD constexpr bool is_nan(T value) {
  return static_cast<order_key_t<T>>(bits_of(value) & ~sign_bit<T>) > infinity_bits<T>;
}
template <class T>
KSELECT_HD constexpr bool is_infinite(T value) {
  return static_cast<order_key_t<T>>(bits_of(value) & ~sign_bit<T>) == infinity_bits<T>;
}

// The key of every NaN where NaN is last or first. No number has it.
template <class T>
KSELECT_HD constexpr order_key_t<T> nan_key(nan_order where) {
  return static_cast<order_key_t<T>>(where == nan_order::last ? ~order_key_t<T>{0} : 0);
}
template <class T>
KSELECT_HD constexpr order_key_t<T> selection_key(T value, direction wanted, nan_order where) {
  const bool apart = where != nan_order::total_order && is_nan(value);
  return apart ? nan_key<T>(where) : selection_key(value, wanted);
}

}  // namespace kselect
