// Rows that a few vectors hold: every length and every k.

#include "algorithms/one_pass_select/short_row.hpp"

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassShortRow : public testing::Test {};
TYPED_TEST_SUITE(OnePassShortRow, every_lanes);

TYPED_TEST(OnePassShortRow, KeepsTheBestAndOfEqualOnesTheFirst) {
  using Int = typename TypeParam::Int;
  using T = value_of<Int>;
  for (std::int64_t n = 1; n <= longest_short_row; ++n) {
    auto keys = scratch_for<Int>(n + padding), indices = keys;
    for (const auto& given : patterns<Int>(n)) {
      // Exactly n values, so that a sanitizer reports reads beyond the row.
      const std::vector<T> values = values_with(given.keys, n, direction::smallest);
      const key_row<T> row(values.data(), n, direction::smallest);
      for (std::int64_t k = 1; k <= n; ++k) {
        hit_list<Int> list{keys.data(), indices.data(), 0};
        select_short_row<TypeParam, true>(row, k, list);
        ASSERT_EQ(list.count, k) << given.name << " n " << n;
        const auto expected = best_indices(given.keys, n, k);
        for (std::size_t j = 0; j < expected.size(); ++j) {
          ASSERT_EQ(indices[j], expected[j]) << given.name << " n " << n << " k " << k;
          ASSERT_EQ(keys[j], given.keys[static_cast<std::size_t>(expected[j])]);
        }
      }
    }
  }
}

TYPED_TEST(OnePassShortRow, KeepsTheSameKeysWithoutIndices) {
  using Int = typename TypeParam::Int;
  using T = value_of<Int>;
  for (const std::int64_t n : {1, 7, 16, 31, 48, 64}) {
    for (const auto& given : patterns<Int>(n)) {
      const std::vector<T> values = values_with(given.keys, n, direction::largest);
      const key_row<T> row(values.data(), n, direction::largest);
      const std::int64_t k = (n + 1) / 2;
      auto keys = scratch_for<Int>(n + padding);
      hit_list<Int> list{keys.data(), nullptr, 0};
      select_short_row<TypeParam, false>(row, k, list);
      ASSERT_EQ(list.count, k) << given.name << " n " << n;
      const auto expected = best_indices(given.keys, n, k);
      for (std::size_t j = 0; j < expected.size(); ++j) {
        ASSERT_EQ(keys[j], given.keys[static_cast<std::size_t>(expected[j])]) << given.name;
      }
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
