// The shared battery (harness/battery) as GoogleTest cases: each case on every registered algorithm
// and every executor it declares. Executors that this machine lacks are skipped with the reason.

#include "harness/battery/battery.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kselect::harness {

void PrintTo(const contender& c, std::ostream* out) {
  *out << c.entry->algorithm->name << " on " << to_string(c.executor);
}

namespace {

std::string test_name(const testing::TestParamInfo<contender>& info) {
  std::string name{info.param.entry->algorithm->name};
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name + "_on_" + std::string(to_string(info.param.executor));
}

class Battery : public testing::TestWithParam<contender> {
 protected:
  // Runs the case that the test is named after.
  static void run() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string_view title = test.name();
    const std::string_view name = title.substr(0, title.find('/'));
    const auto found = std::ranges::find(battery_cases(), name, &battery_case::name);
    ASSERT_NE(found, battery_cases().end()) << name;
    const case_result result = run_case(*found, GetParam(), battery_mode_of_environment());
    if (!result.skipped.empty()) GTEST_SKIP() << result.skipped;
    ASSERT_TRUE(result.passed()) << result.problem << ": " << result.reason;
  }
};
class FiberBattery : public Battery {};
class GpuBattery : public Battery {};

INSTANTIATE_TEST_SUITE_P(All, Battery, testing::ValuesIn(contenders()), test_name);
INSTANTIATE_TEST_SUITE_P(All, FiberBattery, testing::ValuesIn(contenders(executor_kind::fiber)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(All, GpuBattery, testing::ValuesIn(contenders(executor_kind::cuda)),
                         test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FiberBattery);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuBattery);

TEST_P(Battery, ExhaustiveSmallWorlds) { run(); }
TEST_P(Battery, BoundarySizes) { run(); }
TEST_P(Battery, EveryDistribution) { run(); }
TEST_P(Battery, EveryDeclaredTypePayloadAndLayout) { run(); }
TEST_P(Battery, MisalignedInputAndPitch) { run(); }
TEST_P(Battery, ManyShortRows) { run(); }
TEST_P(Battery, RowsOfTheirOwnLengths) { run(); }
TEST_P(Battery, NanLastOrFirst) { run(); }
TEST_P(Battery, OneLongRow) { run(); }
TEST_P(Battery, DeterministicWhereItPromisesSo) { run(); }
TEST_P(FiberBattery, EveryLaneSchedule) { run(); }
TEST_P(GpuBattery, MoreThanTwoToThe31Elements) { run(); }

// A case that no test above runs would be lost here, and GoogleTest would not say so.
TEST(BatteryCases, EachHasATest) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::set<std::string> tested;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      tested.insert(name.substr(0, name.find('/')));
    }
  }
  for (const battery_case& one : battery_cases()) {
    if (contenders(one.only).empty()) continue;
    EXPECT_TRUE(tested.contains(std::string(one.name))) << one.name;
  }
}

}  // namespace
}  // namespace kselect::harness
