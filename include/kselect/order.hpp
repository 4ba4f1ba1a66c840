#pragma once
// The one total order that selection and verification share.
//
// Floating point: IEEE 754 totalOrder on bit patterns, -NaN < -inf < ... < -0 < +0 < ... < +inf <
// +NaN. It orders every bit pattern, so no input is undefined and no value is reserved as a
// sentinel. (`operator<` on floats is no strict weak order if a NaN is present: std::nth_element is
// then undefined behaviour.) Integers have their own order.
//
// `order_key` maps a value to an unsigned integer of the same width whose `<` is that order. It
// flips all bits of a negative floating-point number and the sign bit of a positive one; the sign
// bit of a signed integer; nothing of an unsigned one. `selection_key` flips the key once more for
// the largest: in both directions *a smaller key is a better key*.
//
// The key depends only on the width of the type and its kind, not on its exponent's width. So
// float16 and bfloat16 with equal bits have equal keys. A word (dtypes.hpp) has the same key as the
// element that it stands for.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kselect/dtypes.hpp"
#include "kselect/hd.hpp"

namespace kselect {

enum class direction : std::uint8_t { smallest, largest };

// Where NaN stands. total_order: each NaN is a key like any other. last, first: after or before all
// numbers in either direction, as NumPy sorts; all NaNs then tie, whatever their sign and bits.
enum class nan_order : std::uint8_t { total_order, last, first };

namespace detail {
template <class T>
struct order_key_of {
  using type = typename dtype_traits<T>::bits;
};
template <class Bits>
struct order_key_of<word<Bits>> {
  using type = Bits;
};
}  // namespace detail

// The unsigned integer with the width of T.
template <class T>
using order_key_t = typename detail::order_key_of<T>::type;

// An unsigned word that holds a key and is wide enough for atomics and shuffles.
template <class T>
using order_word_t = std::conditional_t<sizeof(T) < 4, std::uint32_t, order_key_t<T>>;

template <class T>
inline constexpr auto sign_bit = static_cast<order_key_t<T>>(order_key_t<T>{1}
                                                             << (8 * sizeof(T) - 1));

// The bits of +infinity, or of the greatest number if a type has no infinity.
template <class T>
inline constexpr auto infinity_bits = dtype_traits<T>::greatest;

template <class T>
KSELECT_HD constexpr order_key_t<T> bits_of(T value) {
  return std::bit_cast<order_key_t<T>>(value);
}

template <class T>
KSELECT_HD constexpr order_key_t<T> order_key(T value) {
  const order_key_t<T> bits = bits_of(value);
  if constexpr (dtype_traits<T>::kind == number_kind::unsigned_integer) {
    return bits;
  } else if constexpr (dtype_traits<T>::kind == number_kind::signed_integer) {
    return static_cast<order_key_t<T>>(bits ^ sign_bit<T>);
  } else {
    // Flips all bits if negative, else only the sign. Branch-free, it takes two instructions.
    const auto negative = static_cast<order_key_t<T>>(0 - (bits >> (8 * sizeof(T) - 1)));
    return static_cast<order_key_t<T>>(bits ^ (negative | sign_bit<T>));
  }
}

// Inverse of order_key, bit for bit.
template <class T>
KSELECT_HD constexpr T from_order_key(order_key_t<T> key) {
  if constexpr (dtype_traits<T>::kind == number_kind::unsigned_integer) {
    return std::bit_cast<T>(key);
  } else if constexpr (dtype_traits<T>::kind == number_kind::signed_integer) {
    return std::bit_cast<T>(static_cast<order_key_t<T>>(key ^ sign_bit<T>));
  } else {
    const auto bits =
        static_cast<order_key_t<T>>((key & sign_bit<T>) != 0 ? key ^ sign_bit<T> : ~key);
    return std::bit_cast<T>(bits);
  }
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
  constexpr bool two_zeros = dtype_traits<T>::kind == number_kind::floating;
  const bool zero = two_zeros && static_cast<order_key_t<T>>(bits_of(value) << 1) == 0;
  return selection_key(zero ? T{} : value, wanted);
}

// Both test bits, so that -ffast-math cannot optimise them away.
template <class T>
KSELECT_HD constexpr bool is_nan(T value) {
  if constexpr (dtype_traits<T>::has_nan) {
    return static_cast<order_key_t<T>>(bits_of(value) & ~sign_bit<T>) > infinity_bits<T>;
  } else {
    return false;
  }
}
template <class T>
KSELECT_HD constexpr bool is_infinite(T value) {
  if constexpr (dtype_traits<T>::has_infinity) {
    return static_cast<order_key_t<T>>(bits_of(value) & ~sign_bit<T>) == infinity_bits<T>;
  } else {
    return false;
  }
}

// ---- words

// The order of words: two masks turn their bits into the selection key of what they stand for.
template <class Bits>
struct word_order {
  Bits below_zero;  // flipped if the word's first bit is set
  Bits always;      // flipped in any word

  bool operator==(const word_order&) const = default;
};

template <class Bits>
KSELECT_HD constexpr Bits selection_key(word<Bits> x, word_order<Bits> by) {
  constexpr int last = 8 * sizeof(Bits) - 1;
  const auto negative = static_cast<Bits>(0 - (x.bits >> last));
  return static_cast<Bits>(x.bits ^ (negative & by.below_zero) ^ by.always);
}

// Inverse of selection_key, bit for bit.
template <class Word, class Bits>
KSELECT_HD constexpr Word from_selection_key(Bits key, word_order<Bits> by) {
  constexpr int last = 8 * sizeof(Bits) - 1;
  const auto turned = static_cast<Bits>(key ^ by.always);
  const auto negative = static_cast<Bits>(0 - (turned >> last));
  return {static_cast<Bits>(turned ^ (negative & by.below_zero))};
}

// Only floating-point types have two zeros.
template <class Bits>
KSELECT_HD constexpr Bits selection_key_zeros_merged(word<Bits> x, word_order<Bits> by) {
  const bool zero = by.below_zero != 0 && static_cast<Bits>(x.bits << 1) == 0;
  return selection_key(zero ? word<Bits>{} : x, by);
}

namespace detail {
template <class T>
struct order_of {
  using type = direction;
  static constexpr type get(dtype, direction wanted) { return wanted; }
};
template <class Bits>
struct order_of<word<Bits>> {
  using type = word_order<Bits>;
  static constexpr type get(dtype of, direction wanted) {
    constexpr auto sign = sign_bit<word<Bits>>;
    const number_kind kind = kind_of(of);
    const auto below_zero =
        static_cast<Bits>(kind == number_kind::floating ? static_cast<Bits>(~sign) : 0);
    const Bits always = kind == number_kind::unsigned_integer ? Bits{0} : sign;
    return {below_zero,
            static_cast<Bits>(wanted == direction::largest ? static_cast<Bits>(~always) : always)};
  }
};
}  // namespace detail

// What selection_key() of a T takes beside the value: the direction, or the order of words.
template <class T>
using order_t = typename detail::order_of<T>::type;

// The order of elements of type `of` that are read as T.
template <class T>
constexpr order_t<T> order_in(dtype of, direction wanted) {
  return detail::order_of<T>::get(of, wanted);
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
