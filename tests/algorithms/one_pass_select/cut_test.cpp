// Phase 3: the k best of a list stay in order; of equal ones the first stay.

#include "algorithms/one_pass_select/cut.hpp"

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassCut : public testing::Test {};
TYPED_TEST_SUITE(OnePassCut, every_lanes);

TYPED_TEST(OnePassCut, KeepsTheBestAndOfEqualOnesTheFirst) {
  using Int = typename TypeParam::Int;
  for (const std::int64_t m : {1, 2, 15, 16, 17, 64, 65, 200, 777, 1024}) {
    auto scratch = scratch_for<Int>(order_statistic_scratch(m));
    for (const auto& given : patterns<Int>(m)) {
      for (const std::int64_t k : {std::int64_t{1}, m / 4, m / 2, m - 1, m}) {
        if (k < 1) continue;
        const auto expected = best_indices(given.keys, m, k);
        auto keys = given.keys;
        std::vector<Int> indices(keys.size(), Int{-1});
        std::iota(indices.begin(), indices.begin() + m, Int{1000});  // not the positions
        hit_list<Int> list{keys.data(), indices.data(), m};
        const Int bound = cut<TypeParam, true>(list, k, scratch.data());
        ASSERT_EQ(list.count, k) << given.name << " m " << m;
        Int worst = best_key<Int>;
        for (std::int64_t j = 0; j < k; ++j) {
          const auto at = static_cast<std::size_t>(j);
          ASSERT_EQ(indices[at], 1000 + expected[at]) << given.name << " m " << m << " k " << k;
          ASSERT_EQ(keys[at], given.keys[static_cast<std::size_t>(expected[at])]);
          worst = std::max(worst, keys[at]);
        }
        EXPECT_EQ(bound, worst);
      }
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
