// The kernels' form of 16-bit elements, tested on all 65536 bit patterns.

#include "algorithms/buffered_multi_select/steps/element.hpp"

#include <gtest/gtest.h>

namespace kselect::bms {
namespace {

using e = element<float16>;

float16 pattern(unsigned bits) { return {static_cast<std::uint16_t>(bits)}; }

TEST(BufferedMultiSelectElement, SixteenBitsComeBackAndKeepTheirOrder) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const float16 x = pattern(bits);
    EXPECT_EQ(e::narrowed(e::widened(x)).bits, bits);
    EXPECT_EQ(e::key_of(e::widened(x)), order_key(x));
    for (const direction wanted : {direction::smallest, direction::largest}) {
      // A reader orients elements in this way.
      const std::uint32_t flip = wanted == direction::largest ? sign_bit<float> : 0;
      const float oriented = std::bit_cast<float>(bits_of(e::widened(x)) ^ flip);
      EXPECT_EQ(e::key_of(oriented), selection_key(x, wanted));
      EXPECT_EQ(e::selected(e::key_of(oriented), wanted).bits, bits);
    }
  }
}

// The float of a bound admits, in the order of bits, exactly the elements up to the bound.
TEST(BufferedMultiSelectElement, TheNumberOfAKeyEndsItsElements) {
  for (std::uint32_t key = 0; key < 0x10000U; ++key) {
    const float limit = e::value_of(key);
    EXPECT_EQ(e::key_of(limit), key);
    const auto element = [](std::uint32_t k) {
      return e::widened(e::selected(k, direction::smallest));
    };
    EXPECT_LE(order_key(element(key)), order_key(limit));
    if (key == 0xffffU) continue;
    EXPECT_GT(order_key(element(key + 1)), order_key(limit));
  }
  EXPECT_EQ(bits_of(e::value_of(~std::uint32_t{0})), 0x7fffffffU);  // "everything may enter"
}

}  // namespace
}  // namespace kselect::bms
