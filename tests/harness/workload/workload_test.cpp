#include "harness/workload/workload.hpp"

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

TEST(Workload, PrintsItsProblemAndItsRows) {
  workload w = posed(1024, 64, 8);
  w.distribution = {distribution_kind::few_distinct, 16};
  w.seed = 7;
  EXPECT_EQ(to_string(w),
            "float32/smallest/Q=64/n=1024/k=8/values_and_indices/row_major/few_distinct(16)#7");
}

TEST(Workload, IsHeldAgainstWhatTheContractExcludes) {
  algorithm entry = *find_algorithm("cpu/nth_element")->algorithm;
  workload w = posed(10, 1, 3);
  device here;
  here.kind = executor_kind::cpu;
  const auto reason = [&] { return check_support(entry, w, here).reason; };
  EXPECT_EQ(reason(), "");
  entry.promises.nan = nan_policy::unsupported;
  entry.promises.infinities = false;
  EXPECT_EQ(reason(), "");
  w.distribution = {distribution_kind::nan_fraction, 0.5};
  EXPECT_EQ(reason(), "rows may hold NaN, which the contract excludes");
  w.distribution = {distribution_kind::inf_fraction, 0.5};
  EXPECT_EQ(reason(), "rows may hold infinities, which the contract excludes");
  w.distribution.parameter = 0;
  EXPECT_EQ(reason(), "");
}

TEST(Distribution, NamesRoundTrip) {
  for (const char* text :
       {"uniform", "normal", "few_distinct(16)", "inf_fraction(0.999)", "kth_ties(3)"}) {
    const auto parsed = parse_distribution(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(to_string(parse_distribution("few_distinct").value()), "few_distinct(16)");
}

TEST(Distribution, RefusesWhatItDoesNotDefine) {
  for (const char* text :
       {"", "gaussian", "uniform(1)", "few_distinct(0)", "few_distinct(", "few_distinct()",
        "few_distinct(1", "few_distinct(1x)", "few_distinct(1.5)", "inf_fraction(2)",
        "nan_fraction(nan)", "external", "few_distinct(16) "}) {
    EXPECT_FALSE(parse_distribution(text)) << text;
  }
}

}  // namespace
}  // namespace kselect::harness
