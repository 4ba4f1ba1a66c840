#include "harness/measure/round_log.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace kselect::harness {
namespace {

measure_policy policy_of(int rounds, int max_samples, double spread = 0.02) {
  measure_policy policy;
  policy.rounds = rounds;
  policy.min_samples = 1;
  policy.max_samples = max_samples;
  policy.target_spread = spread;
  policy.max_seconds = 1;
  return policy;
}

round_samples turn(std::vector<double> ns, bool throttled = false) {
  round_samples samples;
  samples.ns = std::move(ns);
  samples.throttled = throttled;
  return samples;
}

TEST(RoundLog, TheValueIsTheMedianOfRoundMedians) {
  round_log log(policy_of(3, 9, 1));
  log.add(turn({1, 2, 9}), 0);
  log.add(turn({30, 10, 20}), 0);
  EXPECT_FALSE(log.done());
  log.add(turn({5, 5, 5}), 0);
  ASSERT_TRUE(log.done());
  const timing t = log.result();
  EXPECT_EQ(t.result.median, 5);
  EXPECT_EQ(t.result.ci_low, 2);
  EXPECT_EQ(t.result.ci_high, 20);
  EXPECT_EQ(t.result.min, 1);
  EXPECT_EQ(t.result.max, 30);
  EXPECT_EQ(t.rounds_ns, (std::vector<std::optional<double>>{2, 20, 5}));
  EXPECT_EQ(t.samples_ns, (std::vector<double>{1, 2, 9, 30, 10, 20, 5, 5, 5}));
  EXPECT_EQ(t.round_sizes, (std::vector{3, 3, 3}));
}

TEST(RoundLog, StopsOnANarrowIntervalButNotBeforeAllRounds) {
  round_log log(policy_of(4, 1000));
  for (int i = 0; i < 3; ++i) log.add(turn({100}), 0);
  EXPECT_FALSE(log.done());
  log.add(turn({101}), 0);
  EXPECT_EQ(log.result().stop, "spread");
}

TEST(RoundLog, GoesOnWhileTheIntervalIsWide) {
  round_log log(policy_of(2, 5));
  log.add(turn({100}), 0);
  log.add(turn({200}), 0);
  EXPECT_FALSE(log.done());
  EXPECT_EQ(log.samples_of_turn(), 2);
  log.add(turn({300, 300}), 0);
  EXPECT_EQ(log.samples_of_turn(), 1) << "never more than max_samples";
  log.add(turn({400}), 0);
  EXPECT_EQ(log.result().stop, "max_samples");
}

TEST(RoundLog, SecondsEndItBeforeTheRoundsAreFull) {
  round_log log(policy_of(11, 1000));
  log.add(turn({100}), 0.6);
  EXPECT_FALSE(log.done());
  log.add(turn({120}), 0.6);
  const timing t = log.result();
  EXPECT_EQ(t.stop, "max_seconds");
  EXPECT_EQ(t.result.ci_low, 100);
  EXPECT_EQ(t.result.ci_high, 120);
}

TEST(RoundLog, ARoundWithAFallenClockHasNoValue) {
  round_log log(policy_of(2, 4, 0));
  log.add(turn({900}, true), 0);
  log.add(turn({100}), 0);
  EXPECT_FALSE(log.done());
  log.add(turn({110}), 0);
  log.add(turn({120}), 0);
  const timing t = log.result();
  EXPECT_TRUE(t.throttled);
  EXPECT_FALSE(log.throttled_out());
  EXPECT_EQ(t.rounds_ns, (std::vector<std::optional<double>>{std::nullopt, 100, 110, 120}));
  EXPECT_EQ(t.result.median, 110);
  EXPECT_EQ(t.result.max, 900) << "kept among the samples";
}

TEST(RoundLog, MostRoundsThrottledIsNoTime) {
  round_log log(policy_of(1, 3));
  log.add(turn({900}, true), 0);
  log.add(turn({900}, true), 0);
  log.add(turn({100}), 0);
  EXPECT_TRUE(log.done());
  EXPECT_TRUE(log.throttled_out());
}

TEST(RoundLog, WallAndBatchHaveRoundsOfTheirOwn) {
  round_log log(policy_of(2, 2));
  for (const double scale : {1.0, 3.0}) {
    round_samples samples = turn({10 * scale});
    samples.wall_ns = {100 * scale, 100 * scale, 7};
    samples.batch_ns = 5 * scale;
    samples.sm_mhz = 1980;
    log.add(samples, 0);
  }
  const timing t = log.result();
  ASSERT_TRUE(t.wall && t.batch);
  EXPECT_EQ(t.wall->result.median, 200);
  EXPECT_EQ(t.batch->result.median, 10);
  EXPECT_EQ(t.sm_mhz.size(), 2U);
  round_log host(policy_of(1, 1));
  host.add(turn({1}), 0);
  EXPECT_FALSE(host.result().wall || host.result().batch);
  EXPECT_TRUE(host.result().sm_mhz.empty());
}

}  // namespace
}  // namespace kselect::harness
