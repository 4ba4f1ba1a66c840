#pragma once
// Buffered multi-select: an element of type T as a value in registers and as a key.
//
// A 16-bit element, of either type, becomes the upper half of a float. This costs one instruction
// and keeps the order (order.hpp), so the steps written for floats serve 16-bit rows too. The value
// of a float16 changes, but only its order is used. The key has 16 bits: with a float's 32 bits
// narrowing would take twice the steps. It lies in a 32-bit word, because shared-memory atomics,
// shuffles and reductions take no less.
//
// A word is an element of a type that a launch names (dtypes.hpp): one of 32 bits is an integer,
// one of 8 bits an integer or a float8. In registers both are signed integers whose order is the
// element's; one of 8 bits is the upper byte. There is no NaN among them: every key is a number.

#include <cstdint>
#include <limits>

#include "kselect/order.hpp"

namespace kselect::bms {

// The change of a value's bits that orients it: a smaller value is then better (row.cuh).
template <class Bits>
struct orientation {
  Bits flip;
  KSELECT_HD constexpr bool none() const { return flip == 0; }
  KSELECT_HD constexpr Bits oriented(Bits bits) const { return bits ^ flip; }
  KSELECT_HD constexpr Bits restored(Bits bits) const { return bits ^ flip; }
};
// The same where negative numbers have their magnitude reversed as well.
struct orientation_of_bytes {
  std::uint32_t below_zero, flip;
  KSELECT_HD constexpr bool none() const { return (below_zero | flip) == 0; }
  KSELECT_HD constexpr std::uint32_t oriented(std::uint32_t bits) const {
    return bits ^ ((0 - (bits >> 31)) & below_zero) ^ flip;
  }
  KSELECT_HD constexpr std::uint32_t restored(std::uint32_t bits) const {
    bits ^= flip;
    return bits ^ ((0 - (bits >> 31)) & below_zero);
  }
};

template <class T>
struct element {
  using value = T;             // in registers
  using key = order_key_t<T>;  // a smaller one is better
  static constexpr key worst = static_cast<key>(~key{0});
  static constexpr value last = std::numeric_limits<T>::infinity();  // no number is above

  using orientation = bms::orientation<key>;
  KSELECT_HD static constexpr orientation orientation_for(direction wanted) {
    return {wanted == direction::largest ? sign_bit<value> : key{0}};
  }
  KSELECT_HD static constexpr value widened(T x) { return x; }
  KSELECT_HD static constexpr T narrowed(value x) { return x; }  // x comes from widened()
  KSELECT_HD static constexpr key key_of(value x) { return order_key(x); }
  // The greatest value with key k.
  KSELECT_HD static constexpr value value_of(key k) { return from_order_key<value>(k); }
  // The element with selection key k.
  KSELECT_HD static constexpr T selected(key k, direction wanted) {
    return from_selection_key<T>(k, wanted);
  }
};

template <>
struct element<float16> {
  using value = float;
  using key = std::uint32_t;
  static constexpr key worst = 0xffff;
  static constexpr value last = std::numeric_limits<value>::infinity();

  using orientation = bms::orientation<key>;
  KSELECT_HD static constexpr orientation orientation_for(direction wanted) {
    return element<float>::orientation_for(wanted);
  }
  KSELECT_HD static constexpr value widened(float16 x) {
    return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
  }
  KSELECT_HD static constexpr float16 narrowed(value x) {
    return {static_cast<std::uint16_t>(bits_of(x) >> 16)};
  }
  KSELECT_HD static constexpr key key_of(value x) { return order_key(x) >> 16; }
  KSELECT_HD static constexpr value value_of(key k) {
    return from_order_key<float>(k << 16 | 0xffffU);
  }
  KSELECT_HD static constexpr float16 selected(key k, direction wanted) {
    return from_selection_key<float16>(static_cast<std::uint16_t>(k), wanted);
  }
};

template <>
struct element<word<std::uint32_t>> {
  using stored = word<std::uint32_t>;
  using value = std::int32_t;
  using key = std::uint32_t;
  static constexpr key worst = ~key{0};
  static constexpr value last = std::numeric_limits<value>::max();

  using orientation = bms::orientation<key>;
  KSELECT_HD static constexpr orientation orientation_for(word_order<key> by) {
    return {by.always ^ sign_bit<value>};  // of an integer no more is flipped
  }
  KSELECT_HD static constexpr value widened(stored x) { return std::bit_cast<value>(x.bits); }
  KSELECT_HD static constexpr stored narrowed(value x) { return {bits_of(x)}; }
  KSELECT_HD static constexpr key key_of(value x) { return order_key(x); }
  KSELECT_HD static constexpr value value_of(key k) { return from_order_key<value>(k); }
  KSELECT_HD static constexpr stored selected(key k, word_order<key> by) {
    return from_selection_key<stored>(k, by);
  }
};

template <>
struct element<word<std::uint8_t>> {
  using stored = word<std::uint8_t>;
  using value = std::int32_t;
  using key = std::uint32_t;
  static constexpr key worst = 0xff;
  static constexpr value last = std::numeric_limits<value>::max();

  using orientation = orientation_of_bytes;
  KSELECT_HD static constexpr orientation orientation_for(word_order<std::uint8_t> by) {
    return {std::uint32_t{by.below_zero} << above, (std::uint32_t{by.always} ^ 0x80U) << above};
  }
  KSELECT_HD static constexpr value widened(stored x) {
    return std::bit_cast<value>(std::uint32_t{x.bits} << above);
  }
  KSELECT_HD static constexpr stored narrowed(value x) {
    return {static_cast<std::uint8_t>(bits_of(x) >> above)};
  }
  KSELECT_HD static constexpr key key_of(value x) { return order_key(x) >> above; }
  KSELECT_HD static constexpr value value_of(key k) {
    return from_order_key<value>(k << above | 0xffffffU);
  }
  KSELECT_HD static constexpr stored selected(key k, word_order<std::uint8_t> by) {
    return from_selection_key<stored>(static_cast<std::uint8_t>(k), by);
  }

 private:
  static constexpr int above = 24;
};

}  // namespace kselect::bms
