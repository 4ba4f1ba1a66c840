// Predicted times: from costs of known terms, and corrections that end where they should.

#include "algorithms/auto_select/cost_table.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/auto_select/choose.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

// A table of one member: 1000 ns a launch, 2 ns a wave's byte.
struct small_table {
  std::vector<std::string_view> members = {"member"};
  std::vector<double> costs = std::vector<double>(cost_term_count);
  std::vector<cost_point> points;
  std::vector<double> corrections;
  cost_table table;

  small_table() {
    costs[0] = 1000;
    costs[5] = 2;
    table.device = "card";
    table.multiprocessors = 10;
    table.reach = {4, 4, 4, 4};
    refer();
  }
  void add(const problem& p, double weight) {
    points.push_back(cost_point_of(p));
    corrections.push_back(weight);
    refer();
  }
  void refer() {
    table.members = members;
    table.costs = costs;
    table.points = points;
    table.corrections = corrections;
  }
  double time(const problem& p, int multiprocessors = 10) const {
    double predicted = 0;
    predict_times(table, p, multiprocessors, {&predicted, 1});
    return predicted;
  }
};

TEST(cost_terms, count_waves_rows_bytes_and_answers) {
  const auto terms = cost_terms(shaped(100, 25, 4, dtype::float64), 10);
  const auto term = [&](std::string_view name) {
    const auto found = std::ranges::find(cost_term_names, name);
    EXPECT_NE(found, cost_term_names.end()) << name;
    return terms.at(static_cast<std::size_t>(found - cost_term_names.begin()));
  };
  EXPECT_EQ(term("launch"), 1);
  EXPECT_EQ(term("row"), 800);
  EXPECT_EQ(term("row cut"), 20);
  EXPECT_EQ(term("row answer"), 4);
  EXPECT_EQ(term("wave"), 3);
  EXPECT_EQ(term("wave row"), 2400);
  EXPECT_EQ(term("wave cut"), 60);
  EXPECT_EQ(term("wave answer"), 12);
  EXPECT_EQ(term("rows"), 2.5);
  EXPECT_EQ(term("rows read"), 2000);
  EXPECT_EQ(term("cut"), 50);
  EXPECT_EQ(term("answer"), 10);
}

TEST(predict_times, adds_up_costs) {
  const small_table t;
  EXPECT_DOUBLE_EQ(t.time(shaped(100, 10, 4)), 1000 + 2 * 400);
  EXPECT_DOUBLE_EQ(t.time(shaped(100, 11, 4)), 1000 + 2 * 800);
}

TEST(predict_times, corrects_near_a_point_and_nowhere_else) {
  small_table t;
  const problem measured = shaped(1024, 8, 16);
  t.add(measured, std::log(3.0));
  const small_table plain;
  EXPECT_NEAR(t.time(measured), 3 * plain.time(measured), 1e-9 * plain.time(measured));
  const problem near = shaped(2048, 8, 16);
  EXPECT_GT(t.time(near), 1.2 * plain.time(near));
  EXPECT_LT(t.time(near), 3 * plain.time(near));
  for (const problem& far :
       {shaped(1024 << 4, 8, 16), shaped(1024, 8 << 4, 16), shaped(1024 << 3, 8 << 3, 16)}) {
    EXPECT_DOUBLE_EQ(t.time(far), plain.time(far)) << to_string(far);
  }
  // Twice the bytes are two apart along the last axis.
  const problem wide = shaped(1024, 8, 16, dtype::float64);
  EXPECT_GT(t.time(wide), plain.time(wide));
  EXPECT_LT(t.time(wide), 3 * plain.time(wide));
}

TEST(predict_times, takes_as_many_rows_a_multiprocessor_to_cost_the_same) {
  small_table t;
  t.add(shaped(1024, 80, 16), std::log(3.0));
  for (const std::int64_t q : {10, 40, 95, 160}) {
    EXPECT_NEAR(t.time(shaped(1024, q, 16), 10), t.time(shaped(1024, 2 * q, 16), 20), 1e-6) << q;
  }
}

TEST(reaching, falls_from_one_to_nothing) {
  const cost_point reach = {4, 4, 4, 4};
  const cost_point here = {10, 3, 2, 4};
  double last = 1;
  EXPECT_EQ(reaching(here, here, reach), 1);
  for (double apart = 0.25; apart <= 5; apart += 0.25) {
    const cost_point there = {10, 3 - apart, 2, 4};
    const double now = reaching(here, there, reach);
    EXPECT_EQ(now, reaching(there, here, reach));
    if (apart < 4) {
      EXPECT_LT(now, last);
      EXPECT_GT(now, 0);
    } else {
      EXPECT_EQ(now, 0);
    }
    last = now;
  }
}

TEST(cost_tables, are_of_members_that_auto_has) {
  ASSERT_FALSE(cost_tables().empty());
  for (const cost_table& table : cost_tables()) {
    EXPECT_FALSE(table.source.empty());
    EXPECT_EQ(find_cost_table(table.device), &table);
    for (const std::string_view member : table.members) {
      EXPECT_NE(find_member(member), nullptr) << table.device << ": " << member;
    }
  }
  EXPECT_NE(find_cost_table("NVIDIA H200"), nullptr);
  EXPECT_EQ(find_cost_table("abacus"), nullptr);
}

TEST(cost_tables, predict_a_time_for_anything) {
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> exponent(0, 1);
  std::array<double, max_table_members> times{};
  for (int i = 0; i < 2000; ++i) {
    const auto n = static_cast<std::int64_t>(std::exp2(30 * exponent(generator)));
    const auto q = static_cast<std::int64_t>(std::exp2(24 * exponent(generator)));
    const auto k = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::pow(static_cast<double>(n), exponent(generator))));
    const problem p = shaped(n, q, std::min(n, k), i % 2 == 0 ? dtype::float32 : dtype::float64);
    for (const cost_table& table : cost_tables()) {
      predict_times(table, p, table.multiprocessors / (1 + i % 3), times);
      for (std::size_t m = 0; m < table.members.size(); ++m) {
        EXPECT_GT(times[m], 0) << table.members[m] << ' ' << to_string(p);
        EXPECT_TRUE(std::isfinite(times[m])) << table.members[m] << ' ' << to_string(p);
      }
    }
  }
}

}  // namespace
}  // namespace kselect
