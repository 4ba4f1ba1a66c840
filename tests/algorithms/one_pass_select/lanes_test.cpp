// Compares every operation of every vector policy with a loop over its lanes.

#include <array>

#include "tests/algorithms/one_pass_select/patterns.hpp"

namespace kselect::one_pass {
namespace {

template <class Lanes>
class OnePassLanes : public testing::Test {
 protected:
  using numbers = std::array<typename Lanes::Int, static_cast<std::size_t>(Lanes::size)>;

  static numbers lanes_of(typename Lanes::vector v) {
    numbers out{};
    Lanes::store(v, out.data());
    return out;
  }
  // A mask is visible only through select().
  static numbers lanes_of_mask(typename Lanes::mask m) {
    return lanes_of(Lanes::select(m, Lanes::set(1), Lanes::set(0)));
  }
};
TYPED_TEST_SUITE(OnePassLanes, every_lanes);

TYPED_TEST(OnePassLanes, VerbsDoTheSameInEveryLane) {
  using Lanes = TypeParam;
  using Int = typename Lanes::Int;
  std::mt19937_64 bits(3);
  for (int trial = 0; trial < 200; ++trial) {
    typename TestFixture::numbers a{}, b{};
    for (auto& x : a) x = trial % 2 ? static_cast<Int>(bits()) : static_cast<Int>(bits() % 3 - 1);
    for (auto& x : b) x = trial % 2 ? static_cast<Int>(bits()) : static_cast<Int>(bits() % 3 - 1);
    const auto va = Lanes::load(a.data()), vb = Lanes::load(b.data());
    const auto less = this->lanes_of_mask(Lanes::less(va, vb));
    const auto less_equal = this->lanes_of_mask(Lanes::less_equal(va, vb));
    const auto equal = this->lanes_of_mask(Lanes::equal(va, vb));
    const auto both =
        this->lanes_of_mask(Lanes::both(Lanes::less_equal(va, vb), Lanes::less_equal(vb, va)));
    const auto least = this->lanes_of(Lanes::min(va, vb));
    const auto most = this->lanes_of(Lanes::max(va, vb));
    const auto flipped = this->lanes_of(Lanes::flip_negative(va, vb));
    const auto mixed = this->lanes_of(Lanes::exclusive_or(va, vb));
    const auto counted = this->lanes_of(Lanes::count_up(Lanes::set(5), Lanes::less(va, vb)));
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(less[i], a[i] < b[i]);
      EXPECT_EQ(less_equal[i], a[i] <= b[i]);
      EXPECT_EQ(equal[i], a[i] == b[i]);
      EXPECT_EQ(both[i], a[i] == b[i]);
      EXPECT_EQ(least[i], std::min(a[i], b[i]));
      EXPECT_EQ(most[i], std::max(a[i], b[i]));
      EXPECT_EQ(flipped[i], flip_negative(a[i], b[i]));
      EXPECT_EQ(mixed[i], a[i] ^ b[i]);
      EXPECT_EQ(counted[i], 5 + (a[i] < b[i]));
    }
    EXPECT_EQ(Lanes::largest(va), *std::max_element(a.begin(), a.end()));
  }
}

TYPED_TEST(OnePassLanes, MasksAreCountedAndCompress) {
  using Lanes = TypeParam;
  using Int = typename Lanes::Int;
  std::mt19937_64 bits(4);
  for (int trial = 0; trial < 200; ++trial) {
    typename TestFixture::numbers a{}, b{};
    for (auto& x : a) x = static_cast<Int>(bits() % 5);
    for (auto& x : b) x = static_cast<Int>(bits() % 5);
    std::vector<Int> chosen;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] < b[i]) chosen.push_back(a[i]);
    }
    const auto va = Lanes::load(a.data());
    const auto less = Lanes::less(va, Lanes::load(b.data()));
    EXPECT_EQ(Lanes::count(less), std::ssize(chosen));
    EXPECT_EQ(Lanes::any(less), !chosen.empty());
    const auto front = this->lanes_of(Lanes::compress(va, less));
    EXPECT_TRUE(std::equal(chosen.begin(), chosen.end(), front.begin()));
  }
}

TYPED_TEST(OnePassLanes, FirstIotaAndSum) {
  using Lanes = TypeParam;
  using Int = typename Lanes::Int;
  const auto counted = this->lanes_of(Lanes::iota(17));
  Int sum = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    EXPECT_EQ(counted[i], static_cast<Int>(17 + i));
    sum = static_cast<Int>(sum + counted[i]);
  }
  EXPECT_EQ(Lanes::sum(Lanes::iota(17)), sum);
  for (std::int64_t lanes = 0; lanes <= Lanes::size; ++lanes) {
    const auto first = this->lanes_of_mask(Lanes::first(lanes));
    for (std::int64_t i = 0; i < Lanes::size; ++i) {
      EXPECT_EQ(first[static_cast<std::size_t>(i)], i < lanes);
    }
  }
}

TYPED_TEST(OnePassLanes, LoadsUpperHalves) {
  using Lanes = TypeParam;
  if constexpr (sizeof(typename Lanes::Int) == 4) {
    std::array<std::uint16_t, static_cast<std::size_t>(Lanes::size) + 2> halves{};
    for (std::size_t i = 0; i < halves.size(); ++i) {
      halves[i] = static_cast<std::uint16_t>(0x7ffd + 0x111 * i);
    }
    const auto loaded = this->lanes_of(Lanes::load_upper_halves(halves.data() + 1));
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      EXPECT_EQ(static_cast<std::uint32_t>(loaded[i]), std::uint32_t{halves[i + 1]} << 16);
    }
  }
}

}  // namespace
}  // namespace kselect::one_pass
