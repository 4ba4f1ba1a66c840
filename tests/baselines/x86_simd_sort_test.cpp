// The adapter of x86-simd-sort's quickselect, compiled against a stand-in for its header
// (standins/): what it hands over and takes back is proven; the library itself is not run.

#define KSELECT_HAS_X86_SIMD_SORT 1
#define x86_simd_sort x86_simd_sort_of_standins  // beside the library's own entries
#include "baselines/x86_simd_sort.cpp"
#undef x86_simd_sort

#include <gmock/gmock.h>

#include "kselect/registry.hpp"
#include "tests/baselines/adapters.hpp"

namespace kselect {
namespace {

using testing_adapters::sized;

TEST(X86SimdSort, HandsOverRowsOfEveryTypePayloadAndDirection) {
  const auto place = open_backend(executor_kind::cpu, 2);
  for (const algorithm& entry : entries::x86_simd_sort_of_standins()) {
    EXPECT_EQ(entry.missing, "");
    workload pitched = sized(100, 5, 60);
    pitched.pitch = 103;
    workload ties = sized(200, 4, 150);
    ties.distribution = {distribution_kind::all_equal};
    workload columns = sized(30, 6, 4);
    columns.layout = layout::column_major;
    for (const workload& p : {sized(1, 1, 1), sized(300, 3, 300), pitched, ties, columns}) {
      // Two types, two index types (with values alone, too), four payloads, two directions.
      EXPECT_EQ(testing_adapters::prove_all(entry, p, *place), 32U) << entry.name;
    }
  }
}

TEST(X86SimdSort, IsListedWithTheReasonWhereItIsMissing) {
  const auto listed = match_algorithms("cpu/x86_simd_sort*");
  ASSERT_EQ(listed.size(), 2U);
  for (const registered* row : listed) {
    if (row->algorithm->missing.empty()) GTEST_SKIP() << "this build has x86-simd-sort";
    EXPECT_THAT(std::string(row->algorithm->missing),
                testing::HasSubstr("X86_SIMD_SORT_INCLUDE_DIR"));
  }
}

}  // namespace
}  // namespace kselect
