#include "kselect/order.hpp"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace kselect {
namespace {

template <class T>
T nan_with_sign(bool negative) {
  return from_order_key<T>(negative ? order_key_t<T>{5} : ~order_key_t<T>{5});
}

template <class T>
class Order : public testing::Test {};
using float_types = testing::Types<float, double>;
TYPED_TEST_SUITE(Order, float_types);

TYPED_TEST(Order, IsIeeeTotalOrder) {
  using limits = std::numeric_limits<TypeParam>;
  const TypeParam ascending[] = {nan_with_sign<TypeParam>(true), -limits::infinity(),
                                 -limits::max(), TypeParam{-1}, -limits::denorm_min(),
                                 TypeParam{-0.0}, TypeParam{0.0}, limits::denorm_min(),
                                 limits::min(), TypeParam{1}, limits::max(), limits::infinity(),
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
  // A stride coprime to 2^32 and 2^64 visits all parts of the range.
  bits pattern = 0;
  for (int i = 0; i < 100000; ++i, pattern += static_cast<bits>(0x9e3779b97f4a7c15ULL)) {
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
  EXPECT_EQ(merged(TypeParam{-0.0}), merged(TypeParam{0.0}));
  EXPECT_LT(merged(-std::numeric_limits<TypeParam>::denorm_min()), merged(TypeParam{-0.0}));
  EXPECT_LT(merged(TypeParam{0.0}), merged(std::numeric_limits<TypeParam>::denorm_min()));
}

}  // namespace
}  // namespace kselect
