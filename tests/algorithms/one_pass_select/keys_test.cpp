// The keys of the one-pass selection against the total order of order.hpp.

#include <cmath>
#include <limits>

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class T>
std::vector<T> values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all = {T{0},
                        -T{0},
                        T{1},
                        -T{1},
                        limits::max(),
                        limits::lowest(),
                        limits::min(),
                        -limits::denorm_min(),
                        limits::infinity(),
                        -limits::infinity(),
                        limits::quiet_NaN(),
                        std::copysign(limits::quiet_NaN(), T{-1})};
  std::mt19937_64 bits(11);
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::bit_cast<T>(static_cast<order_key_t<T>>(bits())));
  }
  return all;
}

template <class T>
class OnePassKeys : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(OnePassKeys, types);

TYPED_TEST(OnePassKeys, OrderIsTheTotalOneOnBits) {
  const auto all = values<TypeParam>();
  for (const direction wanted : {direction::smallest, direction::largest}) {
    const key_row row(all.data(), static_cast<std::int64_t>(all.size()), wanted);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto key = row.key(static_cast<std::int64_t>(i));
      EXPECT_EQ(bits_of(row.value(key)), bits_of(all[i]));
      for (std::size_t j = 0; j < all.size(); ++j) {
        EXPECT_EQ(key < row.key(static_cast<std::int64_t>(j)),
                  selection_key(all[i], wanted) < selection_key(all[j], wanted))
            << all[i] << ' ' << all[j];
      }
    }
  }
}

TYPED_TEST(OnePassKeys, BoundTestNeedsNoKeyOfTheElement) {
  using Int = key_of<TypeParam>;
  const auto all = values<TypeParam>();
  for (const direction wanted : {direction::smallest, direction::largest}) {
    const key_row row(all.data(), static_cast<std::int64_t>(all.size()), wanted);
    for (std::int64_t i = 0; i < row.n; ++i) {
      const Int bound = row.key(i);
      const Int flip = row.bound_test_flip(bound);
      for (std::int64_t j = 0; j < row.n; ++j) {
        const Int bits = std::bit_cast<Int>(all[static_cast<std::size_t>(j)]);
        EXPECT_EQ((bits ^ flip) <= bound, row.key(j) <= bound)
            << all[static_cast<std::size_t>(j)] << " against " << all[static_cast<std::size_t>(i)];
      }
    }
  }
}

// All 16-bit values in the order of their selection keys, one by one and in vectors.
TEST(OnePassKeysOf16Bits, AreTheUpperOnes) {
  using Lanes = best_lanes<std::int32_t>;
  std::vector<float16> all;
  for (std::uint32_t key = 0; key < 0x10000U; ++key) {
    all.push_back(from_selection_key<float16>(static_cast<std::uint16_t>(key), direction::largest));
  }
  const auto n = static_cast<std::int64_t>(all.size());
  const key_row largest(all.data(), n, direction::largest);
  const key_row smallest(all.data(), n, direction::smallest);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint16_t bits = all[static_cast<std::size_t>(i)].bits;
    EXPECT_EQ(largest.value(largest.key(i)).bits, bits);
    EXPECT_EQ(smallest.value(smallest.key(i)).bits, bits);
    if (i == 0) continue;
    EXPECT_LT(largest.key(i - 1), largest.key(i));
    EXPECT_GT(smallest.key(i - 1), smallest.key(i));
  }
  for (std::int64_t i = 0; i + Lanes::size <= n; i += Lanes::size - 1) {
    std::vector<std::int32_t> keys(static_cast<std::size_t>(Lanes::size));
    Lanes::store(largest.keys<Lanes>(largest.bits<Lanes>(i)), keys.data());
    for (std::int64_t j = 0; j < Lanes::size; ++j) {
      ASSERT_EQ(keys[static_cast<std::size_t>(j)], largest.key(i + j));
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
