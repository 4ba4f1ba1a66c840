#include "harness/measure/statistics.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace kselect::harness {
namespace {

TEST(Statistics, OneSampleIsItsOwnSummary) {
  const summary s = summarise(std::vector{7.0});
  EXPECT_EQ(s.median, 7);
  EXPECT_EQ(s.q1, 7);
  EXPECT_EQ(s.q3, 7);
  EXPECT_EQ(s.min, 7);
  EXPECT_EQ(s.max, 7);
  EXPECT_EQ(s.ci_low, 7);
  EXPECT_EQ(s.ci_high, 7);
  EXPECT_EQ(s.relative_interval(), 0);
}

TEST(Statistics, InterpolatesQuartilesInAnyOrderOfSamples) {
  const summary s = summarise(std::vector{4.0, 1.0, 3.0, 2.0});
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.q1, 1.75);
  EXPECT_EQ(s.q3, 3.25);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 4);
}

// Ranks from the binomial distribution with at least 95 % coverage (Conover, table of the sign
// test): n = 6 needs 1..6, 11 has 2..10, 20 has 6..15, 30 has 10..21.
TEST(Statistics, IntervalRanksAreThoseOfTheSignTest) {
  const struct {
    int n, low, high;
  } cases[] = {{5, 1, 5}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {11, 2, 10}, {20, 6, 15}, {30, 10, 21}};
  for (const auto& c : cases) {
    std::vector<double> ranks;
    for (int i = 1; i <= c.n; ++i) ranks.push_back(i);
    const summary s = summarise(ranks);
    EXPECT_EQ(s.ci_low, c.low) << c.n;
    EXPECT_EQ(s.ci_high, c.high) << c.n;
  }
}

TEST(Statistics, ManySamplesKeepTheIntervalNarrow) {
  std::vector<double> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const summary s = summarise(values);
  EXPECT_NEAR(s.ci_high - s.ci_low, 2 * 1.96 * 50, 3);
}

// Quartiles 2.25 and 5.75 of 1..7 with 100: fences at 2.25 - 10.5 and 5.75 + 10.5.
TEST(Statistics, FlagsWhatLiesFarOutsideTheQuartiles) {
  EXPECT_EQ(far_out(std::vector{1.0, 2.0, 3.0, 100.0, 4.0, 5.0, 6.0, 7.0}),
            std::vector<std::size_t>{3});
  EXPECT_TRUE(far_out(std::vector{1.0, 2.0, 3.0, 16.0, 4.0, 5.0, 6.0, 7.0}).empty());
  EXPECT_EQ(far_out(std::vector{5.0, 5.0, 5.0, 5.0, 4.9}), std::vector<std::size_t>{4});
  EXPECT_TRUE(far_out({}).empty());
}

}  // namespace
}  // namespace kselect::harness
