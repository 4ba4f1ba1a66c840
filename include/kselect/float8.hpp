#pragma once
// 8-bit floating-point storage types, those of the OCP 8-bit Floating Point Specification
// (Micikevicius et al. 2022, FP8 Formats for Deep Learning). Pointers may be cast to and from
// CUDA's __nv_fp8_e4m3 and __nv_fp8_e5m2, which have the same layout. Names are those of PyTorch,
// JAX and ml_dtypes.
//
// As for 16-bit types (float16.hpp) there is no arithmetic. Conversion to float is exact.
// Conversion from float rounds to nearest, ties to even.

#include <bit>
#include <cstdint>

#include "kselect/float16.hpp"

namespace kselect {

// 4 bits of exponent, 3 of fraction; no infinity, and one NaN of each sign. The greatest is 448.
struct float8_e4m3fn {
  std::uint8_t bits;
};
// 5 bits of exponent, 2 of fraction: the upper half of a float16.
struct float8_e5m2 {
  std::uint8_t bits;
};

namespace detail {

// The nearest magnitude with `fraction` bits of fraction and least exponent 1 - bias, as bits;
// beyond the range something greater than `greatest`. `magnitude`: bits of a float that is no NaN.
template <int fraction, std::uint32_t bias>
KSELECT_HD constexpr std::uint32_t rounded_magnitude(std::uint32_t magnitude) {
  constexpr int dropped = 23 - fraction;
  if (magnitude >= (128 - bias) << 23) {
    const std::uint32_t rebiased = magnitude - ((127 - bias) << 23);
    return (rebiased + (1U << (dropped - 1)) - 1 + (rebiased >> dropped & 1U)) >> dropped;
  }
  // Subnormal: adding this number rounds to a multiple of the least one, the spacing there.
  constexpr std::uint32_t added = (127 + 1 - bias - fraction + 23) << 23;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(added);
  return std::bit_cast<std::uint32_t>(sum) - added;
}

}  // namespace detail

KSELECT_HD constexpr float to_float(float8_e5m2 x) {
  return to_float(float16{static_cast<std::uint16_t>(x.bits << 8)});
}

KSELECT_HD constexpr float to_float(float8_e4m3fn x) {
  const std::uint32_t sign = (x.bits & 0x80U) << 24, magnitude = x.bits & 0x7fU;
  std::uint32_t bits = (magnitude << 20) + (120U << 23);  // both biases are still in it
  if (magnitude < 8) bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-9F);
  if (magnitude == 0x7f) bits = 0x7fc00000U;
  return std::bit_cast<float>(sign | bits);
}

// Beyond the range: infinity.
template <>
KSELECT_HD constexpr float8_e5m2 from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return {static_cast<std::uint8_t>(sign | 0x7eU | (magnitude >> 21 & 3U))};
  }
  const std::uint32_t rounded = detail::rounded_magnitude<2, 15>(magnitude);
  return {static_cast<std::uint8_t>(sign | (rounded < 0x7cU ? rounded : 0x7cU))};
}

// Beyond the range: NaN, as there is no infinity.
template <>
KSELECT_HD constexpr float8_e4m3fn from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80U, magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded =
      magnitude >= 0x7f800000U ? 0x7fU : detail::rounded_magnitude<3, 7>(magnitude);
  return {static_cast<std::uint8_t>(sign | (rounded < 0x7fU ? rounded : 0x7fU))};
}

}  // namespace kselect
