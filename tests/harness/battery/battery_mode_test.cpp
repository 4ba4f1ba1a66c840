// Which problems of a case an entry proves, by the mode of the battery.

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "harness/battery/attempt.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr int problems = 240;

// How often each problem is proven by entry of all `entries` on fibers.
std::vector<int> proven_by(const std::vector<contender>& entries, const battery_mode& mode) {
  std::vector<int> times(problems);
  for (const contender& c : entries) {
    battery_attempt attempt(battery_cases().front(), c, mode);
    for (int& of_problem : times) of_problem += attempt.mine() ? 1 : 0;
  }
  return times;
}

int sum_of(const std::vector<int>& times) {
  int sum = 0;
  for (const int t : times) sum += t;
  return sum;
}

// The entries of one file.
std::vector<contender> family(std::string_view name) {
  const registered* const one = find_algorithm(name);
  std::vector<contender> all;
  for (const contender& c : contenders(executor_kind::fiber)) {
    if (c.entry->file == one->file) all.push_back(c);
  }
  return all;
}

TEST(BatteryMode, AFamilySharesTheProblemsOnFibers) {
  const std::vector<contender> all = family("bms-block");
  ASSERT_GE(all.size(), 2U);
  for (const int times : proven_by(all, "")) EXPECT_GE(times, 1);
  EXPECT_EQ(sum_of(proven_by(all, "full")), problems * std::ssize(all));
}

TEST(BatteryMode, EveryNthIsThatShareOfAnEntrysProblems) {
  for (const contender& c : contenders()) {
    const int own = sum_of(proven_by({c}, "")), some = sum_of(proven_by({c}, "every:4"));
    EXPECT_EQ(some, own / 4) << c.entry->algorithm->name;
    const std::vector<int> all = proven_by({c}, ""), few = proven_by({c}, "every:4");
    for (std::size_t p = 0; p < problems; ++p) EXPECT_LE(few[p], all[p]);
  }
  EXPECT_EQ(proven_by(contenders(), "every:1"), proven_by(contenders(), ""));
}

TEST(BatteryMode, EntriesBeginAtDifferentProblems) {
  const std::vector<int> times = proven_by(contenders(executor_kind::fiber), "every:4");
  for (std::size_t p = 0; p < problems; ++p) EXPECT_GE(times[p], 1) << p;
}

TEST(BatteryMode, WhatIsNoModeIsRefused) {
  const char* const before = std::getenv("KSELECT_BATTERY");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* text : {"fulll", "every:", "every:0", "every:-1", "every:2x", "every"}) {
    setenv("KSELECT_BATTERY", text, 1);
    EXPECT_THROW(battery_mode_of_environment(), runtime::error) << text;
  }
  for (const char* text : {"", "full", "shared", "sample:7", "every:3"}) {
    setenv("KSELECT_BATTERY", text, 1);
    EXPECT_EQ(battery_mode_of_environment(), text);
  }
  before == nullptr ? unsetenv("KSELECT_BATTERY") : setenv("KSELECT_BATTERY", kept.c_str(), 1);
}

}  // namespace
}  // namespace kselect::harness
