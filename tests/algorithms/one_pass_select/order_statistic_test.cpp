// Compares the vectorised select with a sort, on lists made to mislead its sample.

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassOrderStatistic : public testing::Test {};
TYPED_TEST_SUITE(OnePassOrderStatistic, every_lanes);

TYPED_TEST(OnePassOrderStatistic, IsWhatASortGives) {
  using Int = typename TypeParam::Int;
  for (const std::int64_t m : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 100, 511, 512, 1000, 5003}) {
    auto scratch = scratch_for<Int>(order_statistic_scratch(m));
    for (const auto& list : patterns<Int>(m)) {
      std::vector<Int> sorted(list.keys.begin(), list.keys.begin() + m);
      std::sort(sorted.begin(), sorted.end());
      for (const std::int64_t rank :
           {std::int64_t{0}, std::int64_t{1}, m / 7, m / 2, m - 2, m - 1}) {
        if (rank < 0 || rank >= m) continue;
        const auto found = kth_smallest<TypeParam>(list.keys.data(), m, rank, scratch.data());
        const Int key = sorted[static_cast<std::size_t>(rank)];
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), key);
        ASSERT_EQ(found.key, key) << list.name << " m " << m << " rank " << rank;
        EXPECT_EQ(found.less, first - sorted.begin()) << list.name << " m " << m << ' ' << rank;
        EXPECT_EQ(found.equal, last - first) << list.name << " m " << m << ' ' << rank;
      }
    }
  }
}

TYPED_TEST(OnePassOrderStatistic, KeepBetweenTakesBothEndsAndTheWholeRange) {
  using Int = typename TypeParam::Int;
  const std::int64_t m = 101;
  for (const auto& list : patterns<Int>(m)) {
    for (const key_interval<Int> range : {key_interval<Int>{best_key<Int>, worst_key<Int>},
                                          {best_key<Int>, best_key<Int>},
                                          {worst_key<Int>, worst_key<Int>},
                                          {-4, 100},
                                          {best_key<Int>, 0},
                                          {1, worst_key<Int>}}) {
      std::vector<Int> expected;
      std::int64_t below = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        const Int key = list.keys[static_cast<std::size_t>(i)];
        below += key < range.low;
        if (key >= range.low && key <= range.high) expected.push_back(key);
      }
      auto in_place = list.keys;
      const kept found = keep_between<TypeParam>(in_place.data(), m, range, in_place.data());
      EXPECT_EQ(found.below, below) << list.name;
      ASSERT_EQ(found.inside, static_cast<std::int64_t>(expected.size())) << list.name;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in_place.begin())) << list.name;
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
