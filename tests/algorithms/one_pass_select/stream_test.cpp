// Phase 2, with lists so short that they overflow repeatedly.

#include "algorithms/one_pass_select/stream.hpp"

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassStream : public testing::Test {
 protected:
  using key = typename Lanes::Int;

  // Streams the row with the worst bound, or a given one, and compares the k best hits.
  void expect_best(const pattern<key>& given, std::int64_t n, std::int64_t k, direction wanted,
                   std::int64_t capacity, key bound = worst_key<key>) {
    using Int = key;
    using T = value_of<Int>;
    const std::vector<T> values = values_with(given.keys, n, wanted);
    const auto length = static_cast<std::size_t>(capacity + padding);
    std::vector<Int> keys(length), indices(length);
    auto scratch = scratch_for<Int>(order_statistic_scratch(capacity));
    hit_list<Int> list{keys.data(), indices.data(), 0};
    stream<Lanes, true>(key_row<T>(values.data(), n, wanted), 0, n, k, bound, list, capacity,
                        scratch.data());
    ASSERT_LE(list.count, capacity);
    ASSERT_GE(list.count, k) << given.name;
    ASSERT_TRUE(std::is_sorted(indices.begin(), indices.begin() + list.count)) << given.name;
    cut<Lanes, true>(list, k, scratch.data());
    const auto expected = best_indices(given.keys, n, k);
    for (std::int64_t j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(j);
      ASSERT_EQ(indices[at], expected[at]) << given.name << " n " << n << " k " << k;
      ASSERT_EQ(keys[at], given.keys[static_cast<std::size_t>(expected[at])]) << given.name;
    }
  }
};
TYPED_TEST_SUITE(OnePassStream, every_lanes);

TYPED_TEST(OnePassStream, SurvivesEveryOverflow) {
  using Int = typename TypeParam::Int;
  // The longest row has enough batches of blocks for every way of reading ahead.
  for (const std::int64_t n : {70, 500, 3001, 20000}) {
    for (const auto& given : patterns<Int>(n)) {
      for (const std::int64_t k : {1, 5, 64}) {
        // The smallest permitted list, and one that hardly overflows.
        for (const std::int64_t capacity : {k + 4 * TypeParam::size, n + 4 * TypeParam::size}) {
          for (const direction wanted : {direction::smallest, direction::largest}) {
            this->expect_best(given, n, k, wanted, capacity);
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// A bound that equals the k-th best element admits that element.
TYPED_TEST(OnePassStream, AdmitsWhatIsEqualToItsBound) {
  using Int = typename TypeParam::Int;
  const std::int64_t n = 1000, k = 20;
  for (const auto& given : patterns<Int>(n)) {
    std::vector<Int> sorted(given.keys.begin(), given.keys.begin() + n);
    std::nth_element(sorted.begin(), sorted.begin() + k - 1, sorted.end());
    for (const direction wanted : {direction::smallest, direction::largest}) {
      this->expect_best(given, n, k, wanted, 200, sorted[static_cast<std::size_t>(k - 1)]);
      if (this->HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
