#pragma once
// The one total order that selection and verification share.
//
// IEEE 754 totalOrder on bit patterns: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. It orders
// every bit pattern, so no input is undefined and no user value has to serve as a sentinel.
// (`operator<` on floats is no strict weak order once a NaN is present: std::nth_element on such
// rows is undefined behaviour.)
//
// `order_key` maps a value to an unsigned integer of the same width whose `<` is that order: a
// negative number has all its bits flipped, a positive one its sign bit. `selection_key` flips the
// key once more when the largest are wanted: in both directions *a smaller key is a better key*.

#include <bit>
#include <cstdint>

#include "kselect/hd.hpp"

namespace kselect {

enum class direction : std::uint8_t { smallest, largest };

namespace detail {
template <class T>
struct order_key_of;
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

template <class T>
inline constexpr order_key_t<T> sign_bit = order_key_t<T>{1} << (8 * sizeof(T) - 1);

template <class T>
KSELECT_HD constexpr order_key_t<T> bits_of(T value) {
  return std::bit_cast<order_key_t<T>>(value);
}

template <class T>
KSELECT_HD constexpr order_key_t<T> order_key(T value) {
  // Negative: all bits flip; else the sign alone. Without a branch it is two instructions.
  const order_key_t<T> bits = bits_of(value);
  const auto negative = static_cast<order_key_t<T>>(0 - (bits >> (8 * sizeof(T) - 1)));
  return bits ^ (negative | sign_bit<T>);
}

// Inverse of order_key: the value whose key is `key`, to the bit.
template <class T>
KSELECT_HD constexpr T from_order_key(order_key_t<T> key) {
  const order_key_t<T> bits =
      (key & sign_bit<T>) != 0 ? (key ^ sign_bit<T>) : static_cast<order_key_t<T>>(~key);
  return std::bit_cast<T>(bits);
}

template <class T>
KSELECT_HD constexpr order_key_t<T> selection_key(T value, direction wanted) {
  const order_key_t<T> key = order_key(value);
  return wanted == direction::smallest ? key : static_cast<order_key_t<T>>(~key);
}

template <class T>
KSELECT_HD constexpr T from_selection_key(order_key_t<T> key, direction wanted) {
  return from_order_key<T>(wanted == direction::smallest ? key
                                                         : static_cast<order_key_t<T>>(~key));
}

// The key with the two zeros merged, for contracts that promise `zero_policy::merged`.
template <class T>
KSELECT_HD constexpr order_key_t<T> selection_key_zeros_merged(T value, direction wanted) {
  const bool zero = static_cast<order_key_t<T>>(bits_of(value) << 1) == 0;
  return selection_key(zero ? T{0} : value, wanted);
}

template <class T>
KSELECT_HD constexpr bool is_nan(T value) {
  // Written on bits so that no optimisation flag can assume it away.
  const order_key_t<T> magnitude = bits_of(value) & static_cast<order_key_t<T>>(~sign_bit<T>);
  constexpr order_key_t<T> infinity = sizeof(T) == 4
                                          ? static_cast<order_key_t<T>>(0x7f800000U)
                                          : static_cast<order_key_t<T>>(0x7ff0000000000000ULL);
  return magnitude > infinity;
}

}  // namespace kselect
