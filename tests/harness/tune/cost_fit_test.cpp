// Fitting costs to synthetic times with known costs.

#include "harness/tune/cost_fit.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "harness/tune/regret.hpp"
#include "runtime/error.hpp"
#include "tests/harness/tune/made_up.hpp"

namespace kselect::harness::tune {
namespace {

TEST(nonnegative_least_squares, finds_what_made_the_numbers) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> number(0.1, 1);
  const std::vector<double> made = {3, 0, 0.5, 20};
  std::vector<double> a, b;
  for (int row = 0; row < 30; ++row) {
    double sum = 0;
    for (const double x : made) {
      a.push_back(number(generator) * (x == 20 ? 1e-3 : 1e3));  // columns of different magnitude
      sum += x * a.back();
    }
    b.push_back(sum);
  }
  const auto found = nonnegative_least_squares(a, made.size(), b);
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(found[i], made[i], 1e-3) << i;
}

// Checks the conditions of Karush, Kuhn and Tucker, on targets that no nonnegative combination
// reaches.
TEST(nonnegative_least_squares, is_the_least_where_it_may_not_be_negative) {
  std::mt19937_64 generator(2);
  std::normal_distribution<double> number(0, 1);
  constexpr std::size_t columns = 5, rows = 12;
  int at_zero = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> a(rows * columns), b(rows);
    std::ranges::generate(a, [&] { return number(generator); });
    std::ranges::generate(b, [&] { return number(generator); });
    const auto x = nonnegative_least_squares(a, columns, b);
    for (std::size_t c = 0; c < columns; ++c) {
      double gradient = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        double missing = -b[r];
        for (std::size_t i = 0; i < columns; ++i) missing += a[r * columns + i] * x[i];
        gradient += a[r * columns + c] * missing;
      }
      EXPECT_GE(x[c], 0);
      if (x[c] > 0) {
        EXPECT_NEAR(gradient, 0, 1e-6);
      } else {
        ++at_zero;
        EXPECT_GE(gradient, -1e-6);
      }
    }
  }
  EXPECT_GT(at_zero, 10);
}

TEST(nonnegative_least_squares, leaves_a_column_of_zeros_at_zero) {
  const std::vector<double> a = {0, 2, 0, 4}, b = {1, 2};
  const auto x = nonnegative_least_squares(a, 2, b);
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[1], 0.5, 1e-12);
}

TEST(learn, predicts_members_that_the_costs_explain_anywhere) {
  const tuning_data data = made_up_data(made_up_problems(60, 1));
  const learned_table table = learn(data, best_smoothing(data));
  ASSERT_EQ(table.members, data.members);
  const table_view view(table);
  std::array<double, max_table_members> times{};
  for (problem p : made_up_problems(200, 2)) {
    predict_times(*view, p, made_up_multiprocessors, times);
    EXPECT_NEAR(times[0] / streaming_ns(p), 1, 0.05) << to_string(p);
    EXPECT_NEAR(times[1] / waiting_ns(p), 1, 0.05) << to_string(p);
  }
  const problem beyond = shaped(1 << 28, 8, 10);  // longer rows than any measured ones
  predict_times(*view, beyond, made_up_multiprocessors, times);
  EXPECT_NEAR(times[0] / streaming_ns(beyond), 1, 0.1);
}

TEST(learn, corrects_what_the_costs_do_not_explain) {
  const auto problems = made_up_problems(150, 3);
  const tuning_data data = made_up_data(problems);
  const learned_table table = learn(data, {{8, 8, 8, 8}, 1e-3});
  learned_table costs_alone = table;
  std::ranges::fill(costs_alone.corrections, 0);
  const table_view with(table), without(costs_alone);
  std::array<double, max_table_members> times{};
  double most = 0, most_without = 0;
  for (const problem& p : problems) {
    predict_times(*with, p, made_up_multiprocessors, times);
    most = std::max(most, std::abs(std::log(times[2] / quirky_ns(p))));
    predict_times(*without, p, made_up_multiprocessors, times);
    most_without = std::max(most_without, std::abs(std::log(times[2] / quirky_ns(p))));
  }
  EXPECT_LT(most, 0.1);
  EXPECT_GT(most_without, 0.25);
}

TEST(learn, knows_only_members_with_enough_times) {
  tuning_data data = made_up_data(made_up_problems(fewest_times, 4));
  data.problems.front().times[1] = untimed;
  EXPECT_EQ(learn(data, {{8, 8, 8, 8}, 1e-2}).members,
            (std::vector<std::string>{"streaming", "quirky"}));
  for (double& time : data.problems.back().times) time = untimed;
  try {
    learn(data, {{8, 8, 8, 8}, 1e-2});
    ADD_FAILURE() << "learned from too little";
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::input);
    EXPECT_NE(std::string(why.what()).find("too few"), std::string::npos) << why.what();
  }
}

TEST(regret, is_of_the_member_chosen_by_measured_times) {
  tuning_data data = made_up_data({shaped(1024, 10, 4), shaped(1 << 20, 10, 4)});
  data.problems[0].times = {100, 200, untimed};
  data.problems[1].times = {300, 100, 400};
  data.problems[0].chosen = 150;
  data.problems[1].chosen = 100;
  const regret r = of_auto(data);
  ASSERT_EQ(r.choices.size(), 2U);
  EXPECT_NEAR(r.mean, std::sqrt(1.5), 1e-12);
  EXPECT_EQ(r.worst, 1.5);
  EXPECT_EQ(r.choices[0].problem.n, 1024);
  EXPECT_EQ(r.choices[0].best, "streaming");
  EXPECT_EQ(r.choices[1].best, "waiting");
  data.problems[0].chosen = untimed;
  EXPECT_EQ(of_auto(data).choices.size(), 1U);
}

TEST(regret, of_tables_is_small_on_problems_they_were_not_told) {
  const tuning_data data = made_up_data(made_up_problems(120, 5), 0.01);
  const smoothing how = best_smoothing(data);
  const regret held = held_out(data, how);
  EXPECT_EQ(held.choices.size(), data.problems.size());
  EXPECT_LT(held.mean, 1.02);
  const learned_table table = learn(data, how);
  const regret fitted = of_table(data, *table_view(table));
  EXPECT_LE(fitted.mean, held.mean);
  EXPECT_LT(misjudged(data, *table_view(table)), 1.05);
  // Choosing always the same member would be much slower.
  double logs = 0;
  for (const timed_problem& p : data.problems) {
    logs += std::log(p.times[0] / *std::ranges::min_element(p.times));
  }
  EXPECT_GT(std::exp(logs / static_cast<double>(data.problems.size())), 1.1);
}

}  // namespace
}  // namespace kselect::harness::tune
