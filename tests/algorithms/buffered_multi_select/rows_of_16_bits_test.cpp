// Buffered multi-select on rows of 16-bit elements, which the steps of rows_test.cpp read as well.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/float16.hpp"
#include "kselect/simt/counters.hpp"
#include "tests/algorithms/buffered_multi_select/made_rows.hpp"

namespace kselect {
namespace {
using made_rows::list_of_ties;
using made_rows::made;
using made_rows::select;
using made_rows::uniform;
using simt::counter;
using simt::counters;

template <class T>
class BufferedMultiSelect16Bits : public testing::Test {
 protected:
  static std::vector<T> rounded(const std::vector<float>& row) {
    std::vector<T> narrow(row.size());
    std::transform(row.begin(), row.end(), narrow.begin(), from_float<T>);
    return narrow;
  }
  static constexpr const char* names[3] = {"bms-warp", "bms-block", "bms-grid"};
};
using types_of_16_bits = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(BufferedMultiSelect16Bits, types_of_16_bits);

TYPED_TEST(BufferedMultiSelect16Bits, ReadsARowOnceAndKeepsFew) {
  for (const char* name : {"bms-warp", "bms-block"}) {
    const counters c = select(name, this->rounded(uniform(20'000)), 32);
    EXPECT_EQ(c[counter::passes], 1) << name;
    EXPECT_EQ(c[counter::buffer_flushes], 0) << name;
    EXPECT_LE(c[counter::candidates], 1500) << name;
    EXPECT_LE(c[counter::bytes_read], 2 * (20'000 + 2 * c[counter::candidates])) << name;
  }
}

TYPED_TEST(BufferedMultiSelect16Bits, KeepsRowsInRegisters) {
  for (const char* name : {"bms-warp", "bms-block+t128"}) {
    const counters c = select(name, this->rounded(uniform(1000)), 600);
    EXPECT_EQ(c[counter::passes], 1) << name;
    EXPECT_LE(c[counter::bytes_read], 2 * (1000 + 600 + 64)) << name;
  }
}

TYPED_TEST(BufferedMultiSelect16Bits, ListsOfTiesAreCutByABracket) {
  for (const std::int64_t shuffling : {7919, 1237, 421, 1009, 1511}) {
    for (const std::int64_t k : {150, 170, 190, 197}) {
      select("bms-block", this->rounded(list_of_ties(1, shuffling)), k);
    }
  }
}

// Rounded to 16 bits, the largest values of a uniform row are hundreds of equal numbers.
TYPED_TEST(BufferedMultiSelect16Bits, TheLargestOfAUniformRowAreTies) {
  for (const char* name : this->names) {
    for (const std::int64_t k : {1, 100, 600}) {
      select(name, this->rounded(uniform(16'000)), k, direction::largest);
    }
  }
}

// All 65536 bit patterns, each once: NaN of all payloads, both zeros, subnormals.
TYPED_TEST(BufferedMultiSelect16Bits, EveryPatternHasItsPlace) {
  std::vector<TypeParam> row(1 << 16);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = {static_cast<std::uint16_t>(i * 40503)};  // an odd factor permutes the patterns
  }
  for (const char* name : this->names) {
    for (const direction wanted : {direction::smallest, direction::largest}) {
      for (const std::int64_t k : {1, 64, 127}) select(name, row, k, wanted);
    }
  }
}

TYPED_TEST(BufferedMultiSelect16Bits, EqualElementsAndExtremesAreCut) {
  for (const unsigned bits : {0x0000U, 0x8000U, 0x3c00U, 0x7fffU, 0xffffU}) {
    const std::vector<TypeParam> row(20'000, TypeParam{static_cast<std::uint16_t>(bits)});
    for (const char* name : this->names) {
      const counters c = select(name, row, 64);
      if (std::string(name) == "bms-grid") continue;
      EXPECT_EQ(c[counter::passes], 1) << name << " " << bits;
      EXPECT_EQ(c[counter::buffer_flushes], 1) << name << " " << bits;
    }
  }
}

TYPED_TEST(BufferedMultiSelect16Bits, CutsThroughTies) {
  constexpr std::int64_t n = 16 * 1024;
  for (const char* name : this->names) {
    for (const std::int64_t below : {1, 64, 200}) {
      const auto row = made(n, [&](std::int64_t i) {
        const std::int64_t shuffled = i * 7919 % n;
        return shuffled < below    ? static_cast<float>(shuffled - below)
               : shuffled % 3 == 0 ? 1.0F
                                   : 2.0F;
      });
      select(name, this->rounded(row), 128);
    }
  }
}

// Here, too, a tile of 96 threads has 3072 elements: every eighth segment of 256 elements.
TYPED_TEST(BufferedMultiSelect16Bits, AMisleadingFirstTileCostsASecondPass) {
  constexpr std::int64_t n = 8 * 3072;
  const auto noise = uniform(n);
  const auto row = made(n, [&](std::int64_t i) {
    const bool first_tile = i / 256 % 8 == 0;
    return noise[static_cast<std::size_t>(i)] + (first_tile ? 0.0F : 4.0F);
  });
  const counters c = select("bms-block", this->rounded(row), 600);
  EXPECT_GE(c[counter::passes], 2);
}

TYPED_TEST(BufferedMultiSelect16Bits, SortedRowsAreSelectedFrom) {
  for (const char* name : this->names) {
    for (const int sign : {1, -1}) {
      const auto row = made(30'000, [&](std::int64_t i) { return static_cast<float>(sign * i); });
      select(name, this->rounded(row), 100);
    }
  }
}

}  // namespace
}  // namespace kselect
