#pragma once
// Buffered multi-select: an element of type T as a value in registers and as a key.
//
// A 16-bit element, of either type, becomes the upper half of a float. This costs one instruction
// and keeps the order (order.hpp), so the steps written for floats serve 16-bit rows too. The value
// of a float16 changes, but only its order is used. The key has 16 bits: with a float's 32 bits
// narrowing would take twice the steps. It lies in a 32-bit word, because shared-memory atomics,
// shuffles and reductions take no less.

#include <cstdint>

#include "kselect/order.hpp"

namespace kselect::bms {

template <class T>
struct element {
  using value = T;             // in registers
  using key = order_key_t<T>;  // a smaller one is better
  static constexpr key worst = static_cast<key>(~key{0});

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

// The bits in which a value of the row differs from its oriented value (row.cuh).
template <class Value>
KSELECT_HD constexpr order_key_t<Value> orientation(direction wanted) {
  return wanted == direction::largest ? sign_bit<Value> : order_key_t<Value>{0};
}

}  // namespace kselect::bms
