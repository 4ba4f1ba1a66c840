// The kernels' form of 16-bit elements, tested on all 65536 bit patterns, and that of words.

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
      const auto by = e::orientation_for(wanted);
      const float oriented = std::bit_cast<float>(by.oriented(bits_of(e::widened(x))));
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

// Of all bytes, or of as many words of 32 bits.
template <class Bits>
void expect_words_in_order(dtype type, direction wanted) {
  using T = word<Bits>;
  using as_element = element<T>;
  using value = typename as_element::value;
  const auto by = order_in<T>(type, wanted);
  const auto turn = as_element::orientation_for(by);
  const auto oriented = [&](T x) {
    return std::bit_cast<value>(turn.oriented(bits_of(as_element::widened(x))));
  };
  constexpr std::uint32_t step = sizeof(Bits) == 1 ? 1 : 0x01000193U;  // odd: no two are equal
  for (std::uint32_t i = 0; i < 256; ++i) {
    const T x{static_cast<Bits>(i * step)}, other{static_cast<Bits>((i + 97) * step)};
    EXPECT_EQ(as_element::narrowed(as_element::widened(x)).bits, x.bits);
    const value own = oriented(x);
    EXPECT_EQ(as_element::narrowed(std::bit_cast<value>(turn.restored(bits_of(own)))).bits, x.bits);
    EXPECT_EQ(as_element::key_of(own), selection_key(x, by)) << to_string(type) << ' ' << i;
    EXPECT_EQ(as_element::selected(as_element::key_of(own), by).bits, x.bits);
    EXPECT_EQ(own < oriented(other), selection_key(x, by) < selection_key(other, by));
    const value limit = as_element::value_of(as_element::key_of(own));
    EXPECT_LE(own, limit);
    EXPECT_EQ(oriented(other) <= limit, selection_key(other, by) <= selection_key(x, by));
  }
  EXPECT_EQ(as_element::key_of(as_element::last), as_element::worst);
  EXPECT_EQ(as_element::value_of(~std::uint32_t{0}), as_element::last);
}

TEST(BufferedMultiSelectElement, WordsAreIntegersInTheOrderOfTheirElements) {
  for (const direction wanted : {direction::smallest, direction::largest}) {
    for (const dtype type : {dtype::int32, dtype::uint32}) {
      expect_words_in_order<std::uint32_t>(type, wanted);
    }
    for (const dtype type : {dtype::int8, dtype::uint8, dtype::float8_e4m3fn, dtype::float8_e5m2}) {
      expect_words_in_order<std::uint8_t>(type, wanted);
    }
  }
}

}  // namespace
}  // namespace kselect::bms
