// Buffered multi-select on fibers, on rows made for each of its paths: a selective filter, a list
// that overflows, a misleading first tile, ties in the middle of a cut. The certificate proves the
// answers, and counters show that the path was taken.

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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

// A threshold from group minima admits a small multiple of k elements, whatever n is.
TEST(BufferedMultiSelect, ReadsARowInRandomOrderOnceAndKeepsFew) {
  for (const char* name : {"bms-warp", "bms-block", "bms-block+t128"}) {
    const auto row = uniform(20'000);
    const counters c = select(name, row, 32);
    EXPECT_EQ(c[counter::passes], 1) << name;
    EXPECT_EQ(c[counter::buffer_flushes], 0) << name;
    EXPECT_GE(c[counter::candidates], 32) << name;
    EXPECT_LE(c[counter::candidates], 1500) << name;
    // Only survivors are read a second time.
    EXPECT_LE(c[counter::global_reads], 20'000 + 2 * c[counter::candidates]) << name;
  }
}

// Keys so far apart that their 32-bit difference overflows, so that its sign is no comparison.
TEST(BufferedMultiSelect, OrdersKeysOfAnyDistance) {
  std::mt19937 generator(7);
  std::normal_distribution<float> exponent(0, 60);
  for (const std::int64_t n : {100, 784, 1024, 3000}) {
    for (const std::int64_t k : {1, 10, 50, 90}) {
      const auto row = made(n, [&](std::int64_t i) {
        return (i % 3 == 0 ? -1.0F : 1.0F) * std::exp2(exponent(generator));
      });
      for (const direction wanted : {direction::smallest, direction::largest}) {
        for (const char* name : {"bms-warp", "bms-block"}) select(name, row, k, wanted);
      }
    }
  }
  // The few positive numbers are above any threshold; for the largest k, some of them are wanted.
  const auto mostly_negative = made(1024, [&](std::int64_t i) {
    return (i % 100 == 0 ? 1.0F : -1.0F) * std::exp2(exponent(generator));
  });
  for (const std::int64_t k : {1, 8, 64, 1010, 1020}) select("bms-warp", mostly_negative, k);
}

// A warp holds a short row in registers. Only survivors are read a second time; lanes without a
// survivor read the first one along.
TEST(BufferedMultiSelect, ABriefRowHasNoList) {
  for (const std::int64_t n : {100, 256, 784, 1000, 1024}) {
    for (const std::int64_t k : {1, 8, 10, 32, 64}) {
      if (16 * k > n) continue;
      const counters c = select("bms-warp", uniform(n), k);
      EXPECT_EQ(c[counter::passes], 1) << n << ' ' << k;
      EXPECT_LE(c[counter::candidates], 2 * k + 8) << n << ' ' << k;
      const std::int64_t again =
          std::max<std::int64_t>(2 * c[counter::candidates], simt::warp_size);
      EXPECT_LE(c[counter::global_reads], n + again + 8) << n << ' ' << k;
    }
  }
}

// More elements equal the k-th smallest than the path for brief rows can stage. The warp then takes
// the elements below and as many ties as needed, without a list.
TEST(BufferedMultiSelect, ABriefRowWithManyTiesIsReadTwice) {
  for (const std::int64_t n : {1024, 1021}) {  // without and with a partial vector at the end
    for (const std::int64_t below : {0, 5, 31}) {
      const auto few = made(n, [&](std::int64_t i) {
        if (i * 37 % n < below) return -static_cast<float>(i);
        return i % 3 == 0 ? 0.25F : 0.5F;
      });
      const counters c = select("bms-warp", few, 32);
      EXPECT_GT(c[counter::candidates], n / 3 - below);
      EXPECT_EQ(c[counter::passes], 1);
      EXPECT_LE(c[counter::global_reads], 2 * n + 32 + 8);
    }
  }
  const auto least = std::bit_cast<float>(0xffffffffU);  // has no key below its own
  select("bms-warp", made(1024, [&](std::int64_t) { return least; }), 32);
  const auto one_lane = made(1024, [](std::int64_t i) {
    return i % 128 < 4 ? static_cast<float>(i) / 1024 : 2.0F + static_cast<float>(i);
  });
  select("bms-warp", one_lane, 32);  // all of the smallest in one lane
}

// The k smallest of a sorted row lie in one segment. In the first of these rows it is in the first
// tile, and the threshold is too low; the tile's k-th minimum still excludes most of the row.
TEST(BufferedMultiSelect, SortedRowsAreOnePassOrTwo) {
  for (const char* name : {"bms-warp", "bms-block"}) {
    for (const int sign : {1, -1}) {
      const auto row = made(30'000, [&](std::int64_t i) { return static_cast<float>(sign * i); });
      const counters c = select(name, row, 100);
      EXPECT_LE(c[counter::passes], 2) << name;
      EXPECT_LE(c[counter::candidates], 30'000 / 5) << name;
    }
  }
}

// For a long row the first tile is taken from the middle of the row. The smallest elements of a
// sorted row lie at an end, so they do not mislead the tile.
TEST(BufferedMultiSelect, LongSortedRowsAreOnePass) {
  constexpr std::int64_t n = 128 * 1024;
  for (const int sign : {1, -1}) {
    const auto row = made(n, [&](std::int64_t i) { return static_cast<float>(sign * i); });
    EXPECT_EQ(select("bms-block", row, 300)[counter::passes], 1);
    // Blocks that share a row read its first tile twice; no block reads the whole row.
    EXPECT_LE(select("bms-grid", row, 200)[counter::global_reads], n + n / 2);
  }
}

// All elements are equal and pass the threshold; after the first cut the list admits no more ties.
TEST(BufferedMultiSelect, EqualElementsAreCutOnce) {
  for (const char* name : {"bms-warp", "bms-block"}) {
    const counters c = select(name, made(20'000, [](std::int64_t) { return 0.5F; }), 64);
    EXPECT_EQ(c[counter::passes], 1) << name;
    EXPECT_EQ(c[counter::buffer_flushes], 1) << name;
    EXPECT_LE(c[counter::candidates], 1000) << name;
  }
}

// Every element has the least possible key: a full list must admit no more, and nothing is lost.
TEST(BufferedMultiSelect, TheLeastKeyOfAllClosesTheList) {
  const auto least = std::bit_cast<float>(0xffffffffU);
  for (const char* name : {"bms-warp", "bms-block", "bms-grid"}) {
    select(name, made(20'000, [&](std::int64_t) { return least; }), 64);
  }
}

// With 96 threads and 8 loads a tile has 3072 elements: every eighth segment of 128 elements. All
// of the smallest elements lie in the first tile, so the threshold from its minima is too low.
TEST(BufferedMultiSelect, AMisleadingFirstTileCostsASecondPass) {
  constexpr std::int64_t n = 8 * 3072;
  const auto noise = uniform(n);
  const auto row = made(n, [&](std::int64_t i) {
    const bool first_tile = i / 128 % 8 == 0;
    return noise[static_cast<std::size_t>(i)] + (first_tile ? 0.0F : 1.0F);
  });
  const counters c = select("bms-block", row, 600);
  EXPECT_GE(c[counter::passes], 2);
}

// The row is almost all NaN, so the first tile gives no threshold and every element may enter.
TEST(BufferedMultiSelect, ARowOfNaNsIsSelectedFrom) {
  const auto nan = std::bit_cast<float>(0x7fc00001U);
  const auto row = made(16 * 1024, [&](std::int64_t i) { return i % 1000 == 7 ? 1.0F : nan; });
  for (const char* name : {"bms-warp", "bms-block", "bms-grid"}) select(name, row, 100);
}

// A list is cut in the middle of ties: all elements below stay, and as many ties as needed.
TEST(BufferedMultiSelect, CutsThroughTies) {
  constexpr std::int64_t n = 16 * 1024;
  for (const char* name : {"bms-warp", "bms-block", "bms-grid"}) {
    for (const std::int64_t below : {1, 63, 64, 65, 200}) {
      const auto row = made(n, [&](std::int64_t i) {
        const std::int64_t shuffled = i * 7919 % n;
        return shuffled < below    ? static_cast<float>(shuffled - below)
               : shuffled % 3 == 0 ? 1.0F
                                   : 2.0F;
      });
      select(name, row, 128);
    }
  }
}

// With a large k the row stays in registers: each element is read once, the answer's once more.
TEST(BufferedMultiSelect, KeepsRowsInRegistersWhereAThresholdWouldHoldLittleBack) {
  for (const char* name : {"bms-warp", "bms-block+t128"}) {
    const counters c = select(name, uniform(1000), 600);
    EXPECT_EQ(c[counter::passes], 1) << name;
    EXPECT_EQ(c[counter::buffer_flushes], 0) << name;
    EXPECT_LE(c[counter::global_reads], 1000 + 600 + 64) << name;
  }
}

// A bracket around the k-th value is proven by counting the elements below it and inside it. They
// are counted again only if the first bracket fails.
TEST(BufferedMultiSelect, ABracketOfTheKthIsProvenByCounting) {
  const std::vector<std::pair<const char*, std::int64_t>> members{{"bms-warp", 1000},
                                                                  {"bms-block+t128", 3999}};
  for (const auto& [name, n] : members) {
    for (const std::int64_t k : {n / 8, n / 3, n - n / 8}) {
      const auto row = uniform(n);
      EXPECT_LE(select(name, row, k)[counter::candidates], k + 64) << name << ' ' << k;
      EXPECT_LE(select(name, row, k, direction::largest)[counter::candidates], k + 64)
          << name << ' ' << k;
    }
  }
}

TEST(BufferedMultiSelect, ABracketOfOneValueHasAsManyAsAreWanted) {
  for (const char* name : {"bms-warp", "bms-block+t128"}) {
    for (const std::int64_t values : {1, 3, 5}) {
      const auto row =
          made(1000, [&](std::int64_t i) { return static_cast<float>(i * 7919 % values) - 2.0F; });
      for (const std::int64_t k : {130, 200, 400, 999}) {
        EXPECT_LE(select(name, row, k)[counter::candidates], 1000) << name << ' ' << k;
      }
    }
  }
}

// NaNs of both signs count as below any bracket. The bracket then fails, and keys decide.
TEST(BufferedMultiSelect, NaNsAreNotOverlookedByABracket) {
  for (const char* name : {"bms-warp", "bms-block+t128"}) {
    for (const std::uint32_t bits : {0x7fc00001U, 0xffc00001U, 0xffffffffU}) {
      for (const std::size_t at : {501, 502, 777}) {  // not in the sample of the guess
        auto row = uniform(1000);
        row[at] = std::bit_cast<float>(bits);
        EXPECT_GE(select(name, row, 300)[counter::candidates], 600) << name;
      }
    }
  }
}

// Rows of which nearly all values share a bin, are infinite, or are zeros of both signs.
TEST(BufferedMultiSelect, RowsThatBinsOfEqualWidthDoNotTellApart) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::mt19937 generator(11);
  std::uniform_real_distribution<float> exponent(-120, 120);
  const std::vector<std::function<float(std::int64_t)>> elements{
      [&](std::int64_t) { return std::exp2(exponent(generator)); },
      [&](std::int64_t) { return -std::exp2(exponent(generator)); },
      [&](std::int64_t i) { return i % 3 == 0   ? infinity
                                   : i % 3 == 1 ? -infinity
                                                : 1.0F; },
      [&](std::int64_t i) { return i % 2 == 0 ? 0.0F : -0.0F; },
      [&](std::int64_t i) { return std::ldexp(static_cast<float>(i * 7919 % 1000), -149); },
      [&](std::int64_t i) { return i == 17 ? 1e30F : 1e8F + static_cast<float>(i % 999); },
      [&](std::int64_t i) { return i % 2 == 0 ? 3e38F : -3e38F; },
  };
  for (const char* name : {"bms-warp", "bms-block+t128", "bms-block+t256"}) {
    for (const auto& element : elements) {
      for (const std::int64_t k : {130, 400, 666, 1000}) {
        select(name, made(1000, element), k);
        select(name, made(1000, element), k, direction::largest);
      }
    }
  }
}

// Much of a filtered row passes, so the list is long; a bracket then also cuts the list.
TEST(BufferedMultiSelect, LongListsAreCutByABracket) {
  constexpr std::int64_t n = 20'000;
  const auto numbers = uniform(n);
  const std::vector<std::function<float(std::int64_t)>> elements{
      [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; },
      [&](std::int64_t i) { return std::floor(64 * numbers[static_cast<std::size_t>(i)]); },
      [&](std::int64_t i) { return static_cast<float>(i); },
      [&](std::int64_t i) { return static_cast<float>(-i); },
      [&](std::int64_t i) { return i % 50 == 0 ? -1e30F : numbers[static_cast<std::size_t>(i)]; },
      [&](std::int64_t i) {
        return i % 999 == 0 ? std::bit_cast<float>(0xffc00000U)
                            : numbers[static_cast<std::size_t>(i)];
      },
  };
  for (const char* name : {"bms-block+t128", "bms-block+t256"}) {
    for (const auto& element : elements) {
      for (const std::int64_t k : {320, 700, 1000}) {
        const auto row = made(n, element);
        select(name, row, k);
        select(name, row, k, direction::largest);
      }
    }
  }
}

TEST(BufferedMultiSelect, ListsOfTiesAreCutByABracket) {
  for (const std::int64_t shuffling : {7919, 1237, 421, 1009, 1511}) {
    for (const std::int64_t k : {150, 170, 190, 197}) {
      select("bms-block", list_of_ties(1, shuffling), k);
      select("bms-block", list_of_ties(-1, shuffling), k, direction::largest);
    }
  }
}

// Parts of a row share their minima and thus the threshold. On fibers blocks run one after another,
// so the first sees only its own minima. grid_test.cpp tests blocks that see those of others.
TEST(BufferedMultiSelect, PartsOfARowShareTheThresholdsThatTheyCanSee) {
  const counters c = select("bms-grid", uniform(100'000), 50);
  EXPECT_LE(c[counter::buffer_flushes], 4);
  EXPECT_LE(c[counter::candidates], 3500);
}

}  // namespace
}  // namespace kselect
