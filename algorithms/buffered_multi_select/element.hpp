#pragma once
// Buffered multi-select: an element of type T in a row, as a number in registers, and as a key.
//
// A 16-bit element becomes the upper half of a float, whichever of the two types it is: that costs
// an instruction, keeps the order and the bits, and every step is then the one written for floats
// (order.hpp; float16's numbers are other ones then, which nobody asks for). Its key has 16 bits,
// so that narrowing ends in half the steps where float's would have to tell 65536 equal keys apart;
// it lies in a word of 32, as shared-memory atomics, shuffles and reductions take no less.

#include <cstdint>

#include "kselect/order.hpp"

namespace kselect::bms {

template <class T>
struct element {
  using value = T;             // in registers
  using key = order_key_t<T>;  // a smaller one is better
  static constexpr key worst = static_cast<key>(~key{0});

  KSELECT_HD static constexpr value widened(T x) { return x; }
  KSELECT_HD static constexpr T narrowed(value x) { return x; }  // of a widened one
  KSELECT_HD static constexpr key key_of(value x) { return order_key(x); }
  // A number with that key, none with the same key being greater.
  KSELECT_HD static constexpr value value_of(key k) { return from_order_key<value>(k); }
  // The element whose selection key it is.
  KSELECT_HD static constexpr T selected(key k, direction wanted) {
    return from_selection_key<T>(k, wanted);
  }
};

template <>
struct element<float16> {
  using value = float;
  using key = std::uint32_t;
  static constexpr key worst = 0xffff;

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

// The bits in which a value as the row has it and its oriented one (row.cuh) differ.
template <class Value>
KSELECT_HD constexpr order_key_t<Value> orientation(direction wanted) {
  return wanted == direction::largest ? sign_bit<Value> : order_key_t<Value>{0};
}

}  // namespace kselect::bms
