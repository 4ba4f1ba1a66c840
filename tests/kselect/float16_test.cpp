// 16-bit numbers: all of them widened to float, and all boundaries of rounding a float.

#include "kselect/float16.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "kselect/order.hpp"

namespace kselect {
namespace {

template <class T>
struct format;
template <>
struct format<float16> {
  static constexpr int fraction_bits = 10, bias = 15;
};
template <>
struct format<bfloat16> {
  static constexpr int fraction_bits = 7, bias = 127;
};

template <class T>
class Float16 : public testing::Test {};
using types = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Float16, types);

template <class T>
T pattern(unsigned bits) {
  return {static_cast<std::uint16_t>(bits)};
}

// The number by the format's definition.
template <class T>
double defined(unsigned bits) {
  constexpr int fraction_bits = format<T>::fraction_bits;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>((bits & 0x7fffU) >> fraction_bits);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - format<T>::bias - fraction_bits);
  return sign *
         std::ldexp(fraction + (1U << fraction_bits), exponent - format<T>::bias - fraction_bits);
}

TYPED_TEST(Float16, IsTheNumberOfItsFormat) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const float value = to_float(pattern<TypeParam>(bits));
    const unsigned magnitude = bits & 0x7fffU;
    if (magnitude > infinity_bits<TypeParam>) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else if (magnitude == infinity_bits<TypeParam>) {
      EXPECT_TRUE(std::isinf(value)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(value), defined<TypeParam>(bits)) << bits;
    }
    EXPECT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    EXPECT_EQ(is_nan(pattern<TypeParam>(bits)), std::isnan(value)) << bits;
  }
}

TYPED_TEST(Float16, ComesBackFromFloat) {
  constexpr unsigned infinity = infinity_bits<TypeParam>, quiet = infinity | infinity >> 1;
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const TypeParam back = from_float<TypeParam>(to_float(pattern<TypeParam>(bits)));
    const bool nan = (bits & 0x7fffU) > infinity_bits<TypeParam>;
    EXPECT_EQ(back.bits, nan ? bits | quiet : bits);
  }
}

// The midpoint of each number and the next larger in magnitude is a float. Its neighbours round to
// the one side or the other. For the greatest number, the next one is infinity's pattern read as a
// finite number.
TYPED_TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (const unsigned sign : {0U, 0x8000U}) {
    for (unsigned bits = 0; bits < infinity_bits<TypeParam>; ++bits) {
      const double low = defined<TypeParam>(sign | bits);
      const double high = defined<TypeParam>(sign | (bits + 1));
      const auto middle = static_cast<float>((low + high) / 2);
      if (static_cast<double>(middle) != (low + high) / 2) continue;  // bfloat16's least numbers
      const unsigned even = bits % 2 == 0 ? bits : bits + 1;
      const float further = middle * std::numeric_limits<float>::infinity();
      EXPECT_EQ(from_float<TypeParam>(middle).bits, sign | even) << bits;
      EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, 0.0F)).bits, sign | bits) << bits;
      EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, further)).bits, sign | (bits + 1))
          << bits;
    }
  }
}

TYPED_TEST(Float16, WhatIsTooGreatIsInfinite) {
  for (const float x : {3.4e38F * 1.01F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(from_float<TypeParam>(x).bits, infinity_bits<TypeParam>);
    EXPECT_EQ(from_float<TypeParam>(-x).bits, 0x8000U | infinity_bits<TypeParam>);
  }
  for (const float x : {65536.0F, 1e9F, 3e38F}) {
    EXPECT_EQ(from_float<float16>(x).bits, infinity_bits<float16>);
  }
}

// Also a NaN whose payload is only in the discarded bits.
TYPED_TEST(Float16, ANaNStaysOne) {
  for (const std::uint32_t bits : {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU}) {
    const TypeParam x = from_float<TypeParam>(std::bit_cast<float>(bits));
    EXPECT_TRUE(is_nan(x));
    EXPECT_EQ(x.bits >> 15, bits >> 31);
  }
}

}  // namespace
}  // namespace kselect
