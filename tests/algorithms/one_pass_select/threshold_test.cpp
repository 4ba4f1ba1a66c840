// The promise of phase 1: at least k elements are at or below the threshold, on any row.

#include "algorithms/one_pass_select/threshold.hpp"

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassThreshold : public testing::Test {};
TYPED_TEST_SUITE(OnePassThreshold, every_lanes);

TYPED_TEST(OnePassThreshold, AdmitsAtLeastKOnAnyRow) {
  using Int = typename TypeParam::Int;
  using T = value_of<Int>;
  for (const std::int64_t n : {40, 64, 129, 1000, 1024, 5003, 30011}) {
    for (const std::int64_t k : {1, 2, 9, 16, 33, 100, 500}) {
      const sampling plan = plan_sampling(n, k);
      if (plan.groups == 0) continue;
      ASSERT_GE(plan.groups, k);
      ASSERT_LE((plan.pieces - 1) * plan.stride + plan.rounds * plan.groups, n);
      ASSERT_GE(plan.stride, plan.rounds * plan.groups) << "pieces would overlap";
      auto scratch = scratch_for<Int>(threshold_scratch(plan));
      for (const auto& list : patterns<Int>(n)) {
        for (const direction wanted : {direction::smallest, direction::largest}) {
          const std::vector<T> values = values_with(list.keys, n, wanted);
          const key_row<T> row(values.data(), n, wanted);
          const Int bound = threshold<TypeParam>(row, k, plan, scratch.data());
          std::int64_t admitted = 0;
          for (std::int64_t i = 0; i < n; ++i) admitted += row.key(i) <= bound;
          EXPECT_GE(admitted, k) << list.name << " n " << n << " k " << k;
        }
      }
    }
  }
}

// What makes the stream cheap: few more than k pass, also on sorted rows, whichever way.
TYPED_TEST(OnePassThreshold, AdmitsFewMoreThanKInAnyOrder) {
  using Int = typename TypeParam::Int;
  using T = value_of<Int>;
  const std::int64_t n = 16384, k = 64;
  const sampling plan = plan_sampling(n, k);
  auto scratch = scratch_for<Int>(threshold_scratch(plan));
  for (const auto& list : patterns<Int>(n)) {
    if (list.name != "random" && list.name != "ascending" && list.name != "descending") continue;
    const std::vector<T> values = values_with(list.keys, n, direction::smallest);
    const key_row<T> row(values.data(), n, direction::smallest);
    const Int bound = threshold<TypeParam>(row, k, plan, scratch.data());
    EXPECT_LE(std::count_if(list.keys.begin(), list.keys.begin() + n,
                            [=](Int key) { return key <= bound; }),
              2 * k)
        << list.name;
  }
}

TYPED_TEST(OnePassThreshold, SamplesLongRowsAllOver) {
  const sampling plan = plan_sampling(std::int64_t{1} << 24, 256);
  EXPECT_GE(plan.groups, 512);
  EXPECT_LE(plan.groups * plan.rounds * plan.pieces, 1 << 17);
  EXPECT_GT((plan.pieces - 1) * plan.stride, (std::int64_t{1} << 24) * 9 / 10);
}

}  // namespace
}  // namespace kselect::one_pass
