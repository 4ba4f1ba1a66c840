// Which of a thread's elements a bound admits: all implementations follow the order of bits.

#include "algorithms/buffered_multi_select/steps/row.cuh"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::bms {
namespace {

using limits = std::numeric_limits<float>;

constexpr int items = 32;

item_set by_keys(const float (&x)[items], float limit) {
  item_set set = 0;
  for (int i = 0; i < items; ++i) {
    if (order_key(x[i]) <= order_key(limit)) set |= item_set{1} << i;
  }
  return set;
}

// Both zeros, the ends of every kind of number, and their neighbours.
std::vector<float> special_numbers() {
  std::vector<float> numbers;
  for (const float x : {0.0F, limits::denorm_min(), limits::min(), 1.0F, limits::max()}) {
    for (const float signed_x : {x, -x}) {
      numbers.push_back(signed_x);
      numbers.push_back(std::nextafter(signed_x, limits::infinity()));
      numbers.push_back(std::nextafter(signed_x, -limits::infinity()));
    }
  }
  numbers.push_back(limits::infinity());
  numbers.push_back(-limits::infinity());
  return numbers;
}

TEST(BufferedMultiSelectRow, ASignTellsWhatIsNotAboveALimit) {
  const std::vector<float> numbers = special_numbers();
  ASSERT_GE(numbers.size(), std::size_t{items});
  for (std::size_t first = 0; first < numbers.size(); ++first) {
    float x[items];
    for (int i = 0; i < items; ++i) {
      x[i] = numbers[(first + static_cast<std::size_t>(i)) % numbers.size()];
    }
    for (const float limit : numbers) {
      EXPECT_EQ(not_above(x, limit, true), by_keys(x, limit)) << limit << ' ' << first;
      EXPECT_EQ(not_above(x, limit, false), by_keys(x, limit)) << limit << ' ' << first;
    }
  }
}

// Elements of any bits if they may be NaNs; any bits as the limit, also NaNs, if no element is one.
TEST(BufferedMultiSelectRow, BitsTellItOfNaNs) {
  std::mt19937 bits(5);
  const std::vector<float> numbers = special_numbers();
  for (int trial = 0; trial < 2000; ++trial) {
    float any[items], number[items];
    for (int i = 0; i < items; ++i) {
      any[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
      number[i] = numbers[bits() % numbers.size()];
    }
    const float limit = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
    EXPECT_EQ(not_above(any, limit, false), by_keys(any, limit)) << bits_of(limit);
    EXPECT_EQ(not_above(number, limit, true), by_keys(number, limit)) << bits_of(limit);
  }
  for (const std::uint32_t nan : {0x7f800001U, 0x7fffffffU, 0xff800001U, 0xffffffffU}) {
    float x[items];
    for (int i = 0; i < items; ++i) x[i] = numbers[static_cast<std::size_t>(i)];
    const float limit = std::bit_cast<float>(nan);
    EXPECT_EQ(not_above(x, limit, true), by_keys(x, limit)) << nan;
  }
}

// A bound for 16-bit elements is the last float that a 16-bit element with its key can widen to.
TEST(BufferedMultiSelectRow, SixteenBitElementsToo) {
  using as = element<float16>;
  std::mt19937 bits(6);
  for (int trial = 0; trial < 2000; ++trial) {
    float x[items];
    bool no_nans = true;
    for (float& element : x) {
      element = as::widened({static_cast<std::uint16_t>(bits())});
      no_nans &= !is_nan(element);
    }
    const std::uint32_t bound = bits() & 0xffffU;
    item_set expected = 0;
    for (int i = 0; i < items; ++i) {
      if (as::key_of(x[i]) <= bound) expected |= item_set{1} << i;
    }
    EXPECT_EQ(not_above(x, as::value_of(bound), no_nans), expected) << bound;
  }
}

}  // namespace
}  // namespace kselect::bms
