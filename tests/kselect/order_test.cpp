#include "kselect/order.hpp"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace kselect {
namespace {

template <class T>
T nan_with_sign(bool negative) {
  return from_order_key<T>(
      static_cast<order_key_t<T>>(negative ? order_key_t<T>{5} : ~order_key_t<T>{5}));
}

template <class T>
class Order : public testing::Test {};
using float_types = testing::Types<float, double, float16, bfloat16>;
TYPED_TEST_SUITE(Order, float_types);

TYPED_TEST(Order, IsIeeeTotalOrder) {
  constexpr order_key_t<TypeParam> infinity = infinity_bits<TypeParam>;
  const auto number = [](auto bits, bool negative = false) {
    const auto sign = negative ? sign_bit<TypeParam> : order_key_t<TypeParam>{0};
    return std::bit_cast<TypeParam>(static_cast<order_key_t<TypeParam>>(bits | sign));
  };
  const auto greatest = infinity - 1;
  const auto least_normal = infinity & -infinity;
  const TypeParam ascending[] = {nan_with_sign<TypeParam>(true),
                                 number(infinity, true),
                                 number(greatest, true),
                                 from_float<TypeParam>(-1),
                                 number(1, true),
                                 from_float<TypeParam>(-0.0F),
                                 from_float<TypeParam>(0),
                                 number(1),
                                 number(least_normal),
                                 from_float<TypeParam>(1),
                                 number(greatest),
                                 number(infinity),
                                 nan_with_sign<TypeParam>(false)};
  for (std::size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(order_key(ascending[i - 1]), order_key(ascending[i])) << i;
    EXPECT_LT(selection_key(ascending[i], direction::largest),
              selection_key(ascending[i - 1], direction::largest))
        << i;
  }
  EXPECT_TRUE(is_nan(ascending[0]));
  EXPECT_TRUE(is_nan(ascending[12]));
  for (std::size_t i = 1; i < 12; ++i) EXPECT_FALSE(is_nan(ascending[i])) << i;
}

TYPED_TEST(Order, KeysGiveBackEveryBit) {
  using bits = order_key_t<TypeParam>;
  // A stride coprime to a power of two samples the whole range, and covers all 16-bit patterns.
  bits pattern = 0;
  for (int i = 0; i < 100000; ++i) {
    pattern = static_cast<bits>(pattern + static_cast<bits>(0x9e3779b97f4a7c15ULL));
    const auto value = std::bit_cast<TypeParam>(pattern);
    EXPECT_EQ(bits_of(from_order_key<TypeParam>(order_key(value))), pattern);
    for (const direction wanted : {direction::smallest, direction::largest}) {
      const bits key = selection_key(value, wanted);
      EXPECT_EQ(bits_of(from_selection_key<TypeParam>(key, wanted)), pattern);
    }
  }
}

TYPED_TEST(Order, MergesZerosAndNothingElse) {
  const auto merged = [](TypeParam value) {
    return selection_key_zeros_merged(value, direction::smallest);
  };
  using bits = order_key_t<TypeParam>;
  const auto minus_zero = from_float<TypeParam>(-0.0F), zero = from_float<TypeParam>(0);
  EXPECT_EQ(merged(minus_zero), merged(zero));
  EXPECT_LT(merged(std::bit_cast<TypeParam>(static_cast<bits>(sign_bit<TypeParam> + 1))),
            merged(minus_zero));
  EXPECT_LT(merged(zero), merged(std::bit_cast<TypeParam>(bits{1})));
}

// One kernel can therefore handle both 16-bit types as floats.
TEST(OrderOf16Bits, IsThatOfBothTypesAndOfFloatsUpperHalves) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto key = order_key(float16{half});
    EXPECT_EQ(order_key(bfloat16{half}), key);
    EXPECT_EQ(order_key(std::bit_cast<float>(bits << 16)) >> 16, key);
  }
}

}  // namespace
}  // namespace kselect
