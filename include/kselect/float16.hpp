#pragma once
// 16-bit floating-point storage types: float16 (IEEE 754 binary16) and bfloat16 (upper half of a
// float). Pointers may be cast to and from CUDA's __half and __nv_bfloat16, which have the same
// layout. std::float16_t needs C++23.
//
// There is no arithmetic, because selection needs only the bits (order.hpp). Conversion to float is
// exact. Conversion from float rounds to nearest, ties to even. It makes a NaN quiet and keeps its
// sign and the upper bits of its payload.

#include <bit>
#include <cstdint>

#include "kselect/hd.hpp"

namespace kselect {

struct float16 {  // 5 bits of exponent, 10 of fraction
  std::uint16_t bits;
};
struct bfloat16 {  // 8 bits of exponent, 7 of fraction
  std::uint16_t bits;
};

KSELECT_HD constexpr float to_float(bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

KSELECT_HD constexpr float to_float(float16 x) {
  const std::uint32_t sign = (x.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  std::uint32_t bits = (magnitude << 13) + (112U << 23);  // both biases are still in it
  if (magnitude < 0x400U) {                               // subnormal: a multiple of 2^-24
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  } else if (magnitude >= 0x7c00U) {
    bits += 112U << 23;
  }
  return std::bit_cast<float>(sign | bits);
}

// The T nearest to a float. float and double represent it exactly.
template <class T>
KSELECT_HD constexpr T from_float(float x) {
  return static_cast<T>(x);
}

template <>
KSELECT_HD constexpr bfloat16 from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}

template <>
KSELECT_HD constexpr float16 from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto signed_bits = [sign](std::uint32_t b) -> float16 {
    return {static_cast<std::uint16_t>(sign | b)};
  };
  if (magnitude > 0x7f800000U) return signed_bits(0x7e00U | (magnitude >> 13 & 0x3ffU));
  if (magnitude >= 0x47800000U) return signed_bits(0x7c00U);  // at least 2^16: infinity
  if (magnitude >= 0x38800000U) {                             // at least 2^-14; may round to inf
    const std::uint32_t rebiased = magnitude - (112U << 23);
    return signed_bits((rebiased + 0xfffU + (rebiased >> 13 & 1U)) >> 13);
  }
  // Adding 1/2 rounds to a multiple of 2^-24, the spacing of float16's subnormals.
  const float sum = std::bit_cast<float>(magnitude) + 0.5F;
  return signed_bits(std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F));
}

}  // namespace kselect
