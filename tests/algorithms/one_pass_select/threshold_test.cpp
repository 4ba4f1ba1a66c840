// Phase 1 guarantees that at least k elements of any row are at or below the threshold.

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
  for (const std::int64_t n : {40, 64, 129, 1000, 1024, 5003, 30011, 100003}) {
    for (const std::int64_t k : {1, 2, 9, 16, 33, 100, 500, 600}) {
      const sampling plan = plan_sampling(n, k);
      if (plan.groups == 0) continue;
      ASSERT_GE(plan.groups, k);
      const std::int64_t piece = (plan.rounds - 1) * plan.apart + plan.groups;
      ASSERT_LE((plan.pieces - 1) * plan.stride + piece, n);
      ASSERT_GE(plan.apart, plan.groups) << "rounds would overlap";
      ASSERT_GE(plan.stride, piece) << "pieces would overlap";
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

// Few more than k elements pass, also on rows sorted in either direction; this makes phase 2 fast.
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

// Phase 1 sees only a sample of a long row, which includes the row's ends. So the threshold of a
// sorted row is as good as from the whole row. On other rows more elements pass, in proportion to
// the row's length over the sample's.
TYPED_TEST(OnePassThreshold, AdmitsFewMoreThanKOfLongSortedRows) {
  using Int = typename TypeParam::Int;
  using T = value_of<Int>;
  const std::int64_t n = 300000;
  for (const std::int64_t k : {64, 600}) {  // pieces of several rounds, and pieces of one round
    const sampling plan = plan_sampling(n, k);
    const std::int64_t sampled = plan.groups * plan.rounds * plan.pieces;
    ASSERT_LT(sampled, n / 4);
    auto scratch = scratch_for<Int>(threshold_scratch(plan));
    for (const auto& list : patterns<Int>(n)) {
      const bool sorted = list.name == "ascending" || list.name == "descending";
      if (!sorted && list.name != "random") continue;
      const std::vector<T> values = values_with(list.keys, n, direction::smallest);
      const key_row<T> row(values.data(), n, direction::smallest);
      const Int bound = threshold<TypeParam>(row, k, plan, scratch.data());
      EXPECT_LE(std::count_if(list.keys.begin(), list.keys.begin() + n,
                              [=](Int key) { return key <= bound; }),
                sorted ? 2 * k : 2 * k * n / sampled)
          << list.name << " k " << k;
    }
  }
}

TEST(OnePassSampling, ReachesFromEndToEndOfLongRows) {
  struct row_shape {
    std::int64_t n, k;
  };
  const std::int64_t longest = std::int64_t{1} << 24;
  for (const auto [n, k] :
       {row_shape{longest, 1}, {longest, 256}, {longest, 600}, {16360, 1}, {8183, 2}}) {
    const sampling plan = plan_sampling(n, k);
    EXPECT_GE(plan.groups, 2 * k);
    const std::int64_t sampled = plan.groups * plan.rounds * plan.pieces;
    EXPECT_LE(sampled, std::max<std::int64_t>(1 << 15, 32 * k));
    EXPECT_LT(sampled, n / 4 * 3) << "else the row is read whole";
    const std::int64_t end =
        (plan.pieces - 1) * plan.stride + (plan.rounds - 1) * plan.apart + plan.groups;
    EXPECT_GT(end, n - plan.pieces * plan.rounds) << "n " << n << " k " << k;
  }
}

}  // namespace
}  // namespace kselect::one_pass
