#include "harness/compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::harness::compare {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double exact = 1e-12;

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

TEST(CompareStatistics, MedianOfOddAndEvenNumbers) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
}

// Ranks of the sign test (Conover, table A3). Five values give no interval at 95 %.
TEST(CompareStatistics, RanksOfTheMediansInterval) {
  const struct {
    std::size_t n, rank95, rank99;
  } cases[] = {{5, 0, 0}, {6, 1, 0}, {8, 1, 1}, {9, 2, 1}, {11, 2, 1}, {20, 6, 4}, {30, 10, 8}};
  for (const auto& c : cases) {
    EXPECT_EQ(sign_rank(c.n, 0.95), c.rank95) << c.n;
    EXPECT_EQ(sign_rank(c.n, 0.99), c.rank99) << c.n;
  }
  EXPECT_EQ(median_interval(one_to(11), 0.95), (interval{2, 10}));
  EXPECT_EQ(median_interval(one_to(5), 0.95), (interval{-infinity, infinity}));
}

TEST(CompareStatistics, WilcoxonOfOneSidedValues) {
  const signed_rank all_above = wilcoxon(one_to(11), 0);
  EXPECT_EQ(all_above.w, 66);
  EXPECT_NEAR(all_above.p.above, 1.0 / 2048, exact);
  EXPECT_NEAR(all_above.p.below, 1, exact);
  EXPECT_EQ(wilcoxon(std::vector<double>(5, 3.0), 3).p.above, 1);  // all equal to the shift
}

// Hollander & Wolfe, table 3.1 (depression scale): T+ = 40 of 45, one-sided 0.0195.
TEST(CompareStatistics, WilcoxonOfATextbookExample) {
  const std::vector<double> before = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> after = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> change;
  for (std::size_t i = 0; i < before.size(); ++i) change.push_back(before[i] - after[i]);
  const signed_rank found = wilcoxon(change, 0);
  EXPECT_EQ(found.w, 40);
  EXPECT_NEAR(found.p.above, 10.0 / 512, exact);
  EXPECT_NEAR(centre_estimate(change), 0.46, exact);  // their 3.2
}

// {-1, 1, 1}: midranks 2, 2, 2; four of the 8 sign patterns have at least two positive signs.
TEST(CompareStatistics, WilcoxonWithTiesIsThePermutationDistribution) {
  const signed_rank found = wilcoxon(std::vector{-1.0, 1.0, 1.0}, 0);
  EXPECT_EQ(found.w, 4);
  EXPECT_NEAR(found.p.above, 0.5, exact);
  EXPECT_NEAR(found.p.below, 7.0 / 8, exact);
}

TEST(CompareStatistics, WilcoxonOfManyValuesIsNormal) {
  // 80 values, the 20 smallest negative: W+ = 3240 - 210, mean 1620, variance 80 * 81 * 161 / 24.
  std::vector<double> values = one_to(80);
  for (std::size_t i = 0; i < 20; ++i) values[i] = -values[i];
  const signed_rank found = wilcoxon(values, 0);
  EXPECT_EQ(found.w, 3030);
  const double z = (3030 - 1620 - 0.5) / std::sqrt(80.0 * 81 * 161 / 24);
  EXPECT_NEAR(found.p.above, std::erfc(z / std::sqrt(2)) / 2, exact);
}

// One more than the critical values of T at 5 % two-sided (Conover, table A12).
TEST(CompareStatistics, RanksOfTheCentresInterval) {
  const struct {
    std::size_t n, rank;
  } cases[] = {{5, 0}, {6, 1}, {8, 4}, {10, 9}, {11, 11}, {20, 53}};
  for (const auto& c : cases) EXPECT_EQ(centre_rank(c.n, 0.95), c.rank) << c.n;
  // Beyond 60 values: floor(80 * 81 / 4 - 1.95996 sqrt(80 * 81 * 161 / 24)).
  EXPECT_EQ(centre_rank(80, 0.95), 1211U);
}

// The interval excludes exactly the shifts that the test rejects.
TEST(CompareStatistics, WilcoxonAndIntervalAgree) {
  const std::vector<double> values = {0.3, -0.1, 0.7, 0.2, 0.9, 1.4, 0.5, 0.6, 0.05, 1.1, 0.8, 2.0};
  const interval bounds = centre_interval(values, 0.95);
  for (double shift = -0.5; shift < 2.5; shift += 0.010137) {
    const tails p = wilcoxon(values, shift).p;
    const bool rejected = 2 * std::min(p.above, p.below) <= 0.05;
    EXPECT_EQ(rejected, shift < bounds.low || shift > bounds.high) << shift;
  }
}

TEST(CompareStatistics, MannWhitneyOfSeparatedSamples) {
  const rank_sum small = mann_whitney(std::vector{1.0, 2.0, 3.0}, std::vector{4.0, 5.0, 6.0});
  EXPECT_EQ(small.u, 9);
  EXPECT_NEAR(small.p.above, 1.0 / 20, exact);
  EXPECT_NEAR(small.p.below, 1, exact);
  std::vector<double> later = one_to(11);
  for (double& v : later) v += 100;
  EXPECT_NEAR(mann_whitney(one_to(11), later).p.above, 1.0 / 705432, exact);
  EXPECT_NEAR(mann_whitney(later, one_to(11)).p.below, 1.0 / 705432, exact);
}

// Hollander & Wolfe, table 4.1 (permeability of chorioamnion): W = 35 of 50, one-sided 0.1272.
TEST(CompareStatistics, MannWhitneyOfATextbookExample) {
  const std::vector<double> at_term = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const std::vector<double> early = {1.15, 0.88, 0.90, 0.74, 1.21};
  const rank_sum found = mann_whitney(early, at_term);
  EXPECT_EQ(found.u, 35);
  EXPECT_NEAR(found.p.above, 382.0 / 3003, exact);
}

// {1, 1 | 1, 2}: of the 6 choices of two ranks from {2, 2, 2, 4} three sum to 6 and three to 4.
TEST(CompareStatistics, MannWhitneyWithTiesIsThePermutationDistribution) {
  const rank_sum found = mann_whitney(std::vector{1.0, 1.0}, std::vector{1.0, 2.0});
  EXPECT_EQ(found.u, 3);
  EXPECT_NEAR(found.p.above, 0.5, exact);
  EXPECT_NEAR(found.p.below, 1, exact);
  const rank_sum equal = mann_whitney(std::vector{7.0, 7.0, 7.0}, std::vector{7.0, 7.0});
  EXPECT_EQ(equal.u, 3);
  EXPECT_EQ(equal.p.above, 1);
  EXPECT_EQ(equal.p.below, 1);
}

TEST(CompareStatistics, MannWhitneyOfManyValuesIsNormal) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) {
    a.push_back(i);
    b.push_back(i + 8.5);
  }
  // U = sum over b of the a below: min(i + 9, 40); mean 800, variance 40 * 40 * 81 / 12 = 10800.
  const rank_sum found = mann_whitney(a, b);
  EXPECT_EQ(found.u, 31 * 9 + 31 * 30 / 2 + 9 * 40);
  const double z = (found.u - 800 - 0.5) / std::sqrt(10800);
  EXPECT_NEAR(found.p.above, std::erfc(z / std::sqrt(2)) / 2, exact);
  EXPECT_EQ(mann_whitney(std::vector<double>(40, 1.0), std::vector<double>(40, 1.0)).p.above, 1);
}

// One more than the critical values of U at 5 % two-sided (Conover, table A7).
TEST(CompareStatistics, RanksOfTheShiftsInterval) {
  const struct {
    std::size_t m, n, rank;
  } cases[] = {{3, 3, 0},    {4, 4, 1},    {5, 5, 3},    {5, 10, 9},
               {10, 10, 24}, {11, 11, 31}, {20, 20, 128}};
  for (const auto& c : cases) EXPECT_EQ(shift_rank(c.m, c.n, 0.95), c.rank) << c.m << ' ' << c.n;
  // Beyond 60 values: floor(40 * 40 / 2 - 1.95996 sqrt(10800)).
  EXPECT_EQ(shift_rank(40, 40, 0.95), 596U);
}

TEST(CompareStatistics, ShiftOfATextbookExample) {
  const std::vector<double> at_term = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const std::vector<double> early = {1.15, 0.88, 0.90, 0.74, 1.21};
  EXPECT_NEAR(shift_estimate(early, at_term), 0.305, exact);  // as Hollander & Wolfe, 4.2
}

TEST(CompareStatistics, MannWhitneyAndIntervalAgree) {
  const std::vector<double> a = {1.02, 1.10, 0.97, 1.00, 1.05, 1.21, 0.99};
  const std::vector<double> b = {1.13, 1.08, 1.19, 1.30, 1.11, 1.04};
  const interval bounds = shift_interval(a, b, 0.95);
  for (double shift = -0.3; shift < 0.5; shift += 0.00137) {
    std::vector<double> moved = b;
    for (double& v : moved) v -= shift;
    const tails p = mann_whitney(a, moved).p;
    const bool rejected = 2 * std::min(p.above, p.below) <= 0.05;
    EXPECT_EQ(rejected, shift < bounds.low || shift > bounds.high) << shift;
  }
}

TEST(CompareStatistics, CorrectionsOfFourPValues) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> bh = {0.02, 0.04, 0.04, 0.02};
  const std::vector<double> family = {0.03, 0.06, 0.06, 0.02};
  const auto found_bh = benjamini_hochberg(p);
  const auto found_family = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_NEAR(found_bh[i], bh[i], exact) << i;
    EXPECT_NEAR(found_family[i], family[i], exact) << i;
  }
  EXPECT_TRUE(benjamini_hochberg({}).empty());
  EXPECT_TRUE(holm({}).empty());
}

// Benjamini & Hochberg 1995, section 3.2: 15 p values, four rejected at 5 %, three by Holm.
TEST(CompareStatistics, CorrectionsOfTheOriginalExample) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  const auto rejected = [](const std::vector<double>& adjusted) {
    return std::ranges::count_if(adjusted, [](double q) { return q <= 0.05; });
  };
  EXPECT_EQ(rejected(benjamini_hochberg(p)), 4);
  EXPECT_EQ(rejected(holm(p)), 3);
}

}  // namespace
}  // namespace kselect::harness::compare
