// Masks of a sweep's cells: their names, the share of elements that they admit, and that a seed
// makes them.

#include "harness/workload/drawn_mask.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gmock/gmock.h>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

using words = std::vector<std::uint32_t>;

std::int64_t admitted(const words& mask) {
  return std::accumulate(
      mask.begin(), mask.end(), std::int64_t{0},
      [](std::int64_t sum, std::uint32_t word) { return sum + std::popcount(word); });
}

words drawn(const char* text, std::int64_t n, std::int64_t q, std::uint64_t seed = 7) {
  return make_mask(*parse_drawn_mask(text), n, q, seed);
}

TEST(DrawnMask, IsReadAsItIsPrinted) {
  for (const char* text : {"none", "columns(0.01)", "elements(0.5)", "columns(1)"}) {
    const auto parsed = parse_drawn_mask(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(to_string(*parse_drawn_mask("columns")), "columns(0.1)");
  EXPECT_EQ(to_string(*parse_drawn_mask("elements(1e-1)")), "elements(0.1)");
  for (const char* text : {"", "column", "none(1)", "columns()", "columns(0)", "columns(1.01)",
                           "elements(-1)", "elements(0.5", "elements(nan)", "elements(0.5)x"}) {
    EXPECT_FALSE(parse_drawn_mask(text)) << text;
  }
}

TEST(DrawnMask, AdmitsItsShare) {
  constexpr std::int64_t n = 5003, q = 40, all = n * q;  // a row ends within a word
  for (const double share : {0.01, 0.1, 0.5, 0.9}) {
    const drawn_mask m{mask_bits::elements, share};
    const words mask = make_mask(m, n, q, 7);
    ASSERT_EQ(mask.size(), q * words_of_mask(n));
    // Six standard deviations of independent bits.
    const double near = 6 * std::sqrt(all * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(admitted(mask)), all * share, near) << share;
    for (std::size_t row = 1; row <= q; ++row) {
      EXPECT_EQ(mask[row * words_of_mask(n) - 1] >> n % 32, 0U) << "bits behind the row";
    }
  }
  EXPECT_EQ(admitted(drawn("elements(1)", n, q)), all);
  EXPECT_EQ(admitted(drawn("columns(1)", n, q)), n);
  EXPECT_EQ(drawn("none", n, q), words{});
}

TEST(DrawnMask, OfColumnsIsOneForAllRows) {
  const words mask = drawn("columns(0.5)", 4096, 9);
  EXPECT_EQ(mask.size(), 128U);
  EXPECT_NEAR(static_cast<double>(admitted(mask)), 2048, 6 * 32);
}

TEST(DrawnMask, IsMadeByTheSeed) {
  const words mask = drawn("elements(0.5)", 640, 3);
  EXPECT_EQ(drawn("elements(0.5)", 640, 3), mask);
  EXPECT_NE(drawn("elements(0.5)", 640, 3, 8), mask);
  // Rows differ, and so do the words of one.
  EXPECT_NE(words(mask.begin(), mask.begin() + 20), words(mask.begin() + 20, mask.begin() + 40));
  EXPECT_THAT(words(mask.begin(), mask.begin() + 20), testing::Contains(testing::Ne(mask[0])));
  // The same on every machine: records of different ones are compared.
  EXPECT_EQ(drawn("columns(0.3)", 64, 1, 42), (words{1653278916U, 826438657U}));
}

TEST(DrawnMask, MakesAWorkloadMasked) {
  workload w = posed(1000, 10, 3);
  EXPECT_EQ(w.mask_bytes(), 0U);
  w.give_mask(*parse_drawn_mask("columns(0.25)"));
  EXPECT_TRUE(w.ragged());
  EXPECT_EQ(w.mask_pitch, 0);
  EXPECT_EQ(w.mask_bytes(), 32U * 4);
  EXPECT_THAT(to_string(w), testing::HasSubstr("/mask:columns/"));
  EXPECT_THAT(to_string(w), testing::EndsWith("/columns(0.25)"));
  EXPECT_THAT(short_title(w), testing::EndsWith(" mask columns(0.25)"));
  w.give_mask(*parse_drawn_mask("elements(0.25)"));
  EXPECT_EQ(w.mask_pitch, 32);
  EXPECT_EQ(w.mask_bytes(), 10U * 32 * 4);
  w.give_lengths(*parse_row_lengths("uniform"));
  EXPECT_THAT(to_string(w), testing::EndsWith("/uniform/elements(0.25)"));
  w.give_lengths({});
  w.give_mask({});
  EXPECT_EQ(w, posed(1000, 10, 3));
}

TEST(DrawnMask, LeavesOutWhatACallNeedNotRead) {
  workload w = posed(1000, 10, 3);
  EXPECT_EQ(least_input_of(w).elements, 10'000);
  EXPECT_EQ(least_input_of(w).mask_bytes, 0);
  w.give_mask(*parse_drawn_mask("columns(0.25)"));
  const words columns = make_mask(w.drawn_mask, w.n, w.q, w.seed);
  EXPECT_EQ(least_input_of(w).elements, 10 * admitted(columns));
  EXPECT_EQ(least_input_of(w).mask_bytes, 128);
  w.give_mask(*parse_drawn_mask("elements(0.25)"));
  EXPECT_EQ(least_input_of(w).elements, admitted(make_mask(w.drawn_mask, w.n, w.q, w.seed)));
  EXPECT_EQ(least_input_of(w).mask_bytes, 1280);
  const std::int64_t whole = least_input_of(w).elements;
  w.give_lengths(*parse_row_lengths("two_sizes(0.5)"));  // rows of 1,000 elements and of 1
  const auto lengths = make_lengths(w.row_lengths, w.n, w.q, w.seed);
  const auto long_rows = std::ranges::count(lengths, 1000);
  EXPECT_EQ(least_input_of(w).mask_bytes, 128 * long_rows + 4 * (10 - long_rows));
  EXPECT_LT(least_input_of(w).elements, whole);
  EXPECT_GT(least_input_of(w).elements, 0);
  w.give_mask(*parse_drawn_mask("elements(1)"));
  EXPECT_EQ(least_input_of(w).elements, 999 * long_rows + 10);
}

}  // namespace
}  // namespace kselect::harness
