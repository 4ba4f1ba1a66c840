// The table of element types, and words in place of elements.

#include "kselect/dtypes.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kselect/order.hpp"
#include "kselect/ragged.hpp"

namespace kselect {
namespace {

TEST(Dtypes, TableIsInTheOrderOfItsEnumerators) {
  int number = 0;
  std::set<std::string_view> seen;
  for (const auto& [type, name] : names<dtype>) {
    EXPECT_EQ(static_cast<int>(type), number++);
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(parse<dtype>(name), type);
    visit_number(type, [&]<class T>(T) {
      EXPECT_EQ(dtype_traits<T>::type, type);
      EXPECT_EQ(sizeof(T), sizeof(order_key_t<T>)) << name;
      EXPECT_EQ(size_of(type), sizeof(T)) << name;
    });
    EXPECT_EQ(visit_words(type, []<class T>(T) { return sizeof(T); }), size_of(type)) << name;
  }
}

template <class T>
class IntegerOrder : public testing::Test {};
using integers = testing::Types<std::int32_t, std::uint32_t, std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(IntegerOrder, integers);

TYPED_TEST(IntegerOrder, IsThatOfTheNumbers) {
  using limits = std::numeric_limits<TypeParam>;
  std::set<TypeParam> some = {limits::min(), limits::max(), TypeParam{0}, TypeParam{1},
                              static_cast<TypeParam>(-1)};
  std::mt19937_64 random(8);
  for (int i = 0; i < 60; ++i) some.insert(static_cast<TypeParam>(random()));
  for (const TypeParam a : some) {
    EXPECT_FALSE(is_nan(a));
    EXPECT_FALSE(is_infinite(a));
    for (const direction wanted : {direction::smallest, direction::largest}) {
      EXPECT_EQ(from_selection_key<TypeParam>(selection_key(a, wanted), wanted), a);
      EXPECT_EQ(selection_key_zeros_merged(a, wanted), selection_key(a, wanted));
    }
    for (const TypeParam b : some) {
      EXPECT_EQ(order_key(a) < order_key(b), a < b) << +a << ' ' << +b;
      EXPECT_EQ(selection_key(a, direction::largest) < selection_key(b, direction::largest), a > b);
    }
  }
}

// What ragged rows have where no element is.
TYPED_TEST(IntegerOrder, TheFillIsTheWorstNumber) {
  using limits = std::numeric_limits<TypeParam>;
  EXPECT_EQ(std::bit_cast<TypeParam>(fill_bits<TypeParam>(direction::smallest)), limits::max());
  EXPECT_EQ(std::bit_cast<TypeParam>(fill_bits<TypeParam>(direction::largest)), limits::min());
}

// Every pattern of 8 and 16 bits, and as many of the wider types.
TEST(Words, HaveTheKeysOfWhatTheyStandFor) {
  std::mt19937_64 random(5);
  for (const auto& named_type : names<dtype>) {
    visit_number(named_type.value, [&]<class T>(T) {
      using bits = order_key_t<T>;
      for (const direction wanted : {direction::smallest, direction::largest}) {
        const auto by = order_in<word<bits>>(named_type.value, wanted);
        for (std::uint32_t i = 0; i < 0x10000U; ++i) {
          const auto pattern = static_cast<bits>(sizeof(T) < 4 ? i : random());
          const T x = std::bit_cast<T>(pattern);
          const word<bits> w{pattern};
          ASSERT_EQ(selection_key(w, by), selection_key(x, wanted)) << named_type.name;
          ASSERT_EQ(from_selection_key<word<bits>>(selection_key(w, by), by).bits, pattern);
          ASSERT_EQ(selection_key_zeros_merged(w, by), selection_key_zeros_merged(x, wanted))
              << named_type.name << ' ' << +pattern;
        }
        const word<bits> minus_zero{sign_bit<T>};
        ASSERT_EQ(selection_key_zeros_merged(minus_zero, by) ==
                      selection_key_zeros_merged(word<bits>{0}, by),
                  dtype_traits<T>::kind == number_kind::floating);
      }
    });
  }
}

// ---- 8-bit floats

double defined(float8_e4m3fn x) {
  const int exponent = x.bits >> 3 & 15, fraction = x.bits & 7;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return x.bits >> 7 != 0 ? -size : size;
}
double defined(float8_e5m2 x) {
  const int exponent = x.bits >> 2 & 31, fraction = x.bits & 3;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -16) : std::ldexp(4 + fraction, exponent - 17);
  return x.bits >> 7 != 0 ? -size : size;
}

template <class T>
class Float8 : public testing::Test {};
using float8_types = testing::Types<float8_e4m3fn, float8_e5m2>;
TYPED_TEST_SUITE(Float8, float8_types);

TYPED_TEST(Float8, BecomesItsNumberAndComesBack) {
  int nans = 0, infinite = 0;
  for (unsigned bits = 0; bits < 256; ++bits) {
    const TypeParam x{static_cast<std::uint8_t>(bits)};
    const float value = to_float(x);
    EXPECT_EQ(std::isnan(value), is_nan(x)) << bits;
    EXPECT_EQ(std::isinf(value), is_infinite(x)) << bits;
    EXPECT_EQ(std::signbit(value), bits >> 7 != 0) << bits;
    nans += is_nan(x) ? 1 : 0;
    infinite += is_infinite(x) ? 1 : 0;
    const TypeParam back = from_float<TypeParam>(value);
    EXPECT_EQ(is_nan(back), is_nan(x)) << bits;
    if (is_nan(x)) continue;
    EXPECT_EQ(back.bits, bits);
    if (!is_infinite(x)) {
      EXPECT_EQ(static_cast<double>(value), defined(x)) << bits;
    }
  }
  const bool has_infinity = dtype_traits<TypeParam>::has_infinity;
  EXPECT_EQ(nans, has_infinity ? 6 : 2);
  EXPECT_EQ(infinite, has_infinity ? 2 : 0);
}

TYPED_TEST(Float8, RoundsToTheNearestAndTiesToEven) {
  constexpr unsigned greatest =
      dtype_traits<TypeParam>::greatest - (dtype_traits<TypeParam>::has_infinity ? 1U : 0U);
  const auto of = [](unsigned bits) { return TypeParam{static_cast<std::uint8_t>(bits)}; };
  for (const unsigned sign : {0U, 0x80U}) {
    for (unsigned bits = 0; bits <= greatest; ++bits) {  // beyond the last: infinity, or NaN
      const double low = defined(of(sign | bits)), high = defined(of(sign | (bits + 1)));
      const auto middle = static_cast<float>((low + high) / 2);
      const unsigned even = bits % 2 == 0 ? bits : bits + 1;
      const float further = middle * std::numeric_limits<float>::infinity();
      EXPECT_EQ(from_float<TypeParam>(middle).bits, sign | even) << bits;
      EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, 0.0F)).bits, sign | bits) << bits;
      EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, further)).bits, sign | (bits + 1));
    }
    for (const float x : {1e6F, 3e38F, std::numeric_limits<float>::infinity()}) {
      const unsigned expected = greatest + 1;
      EXPECT_EQ(from_float<TypeParam>(sign == 0 ? x : -x).bits, sign | expected) << x;
    }
  }
}

}  // namespace
}  // namespace kselect
