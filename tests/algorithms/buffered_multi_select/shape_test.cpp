// The parameters of a launch: a plan must satisfy the kernels' assumptions.

#include "algorithms/buffered_multi_select/shape.hpp"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

namespace kselect::bms {
namespace {

// The probability that a Poisson variable of that mean is at least r.
double tail(double mean, position r) {
  double term = std::exp(-mean), below = 0;
  for (position i = 0; i < r; ++i) {
    below += term;
    term *= mean / (i + 1);
  }
  return 1 - below;
}

TEST(BufferedMultiSelectShape, RankIsTheLeastThatIsSafe) {
  for (const double mean : {0.01, 0.5, 1.0, 7.0, 40.0, 300.0}) {
    const position r = safe_rank(mean, 100'000);
    EXPECT_LE(tail(mean, r), 2.1e-6) << mean;
    EXPECT_GT(tail(mean, r - 1), 1.9e-6) << mean;
  }
  for (const double mean : {0.5, 7.0, 300.0}) {
    const position r = safe_rank(mean, 100'000, of_one_among_many);
    EXPECT_LE(tail(mean, r), 2.1e-4) << mean;
    EXPECT_GT(tail(mean, r - 1), 1.9e-4) << mean;
    EXPECT_LT(r, safe_rank(mean, 100'000)) << mean;
  }
  EXPECT_EQ(safe_rank(300, 310), 310U);  // the k-th needs no more than k
  // Where exp() would underflow, the normal tail is used.
  const position r = safe_rank(2000, 100'000);
  EXPECT_GT(r, 2000 + 4.7 * std::sqrt(2000));
  EXPECT_LT(r, 2000 + 5.5 * std::sqrt(2000));
}

// The probability that `least` or more of `groups` groups have one of the elements, if each group
// has `expected` of them.
double groups_tail(int groups, double expected, int least) {
  const double none = std::exp(-expected);
  double sum = 0;
  for (int r = least; r <= groups; ++r) {
    const double ways =
        std::exp(std::lgamma(groups + 1.0) - std::lgamma(r + 1.0) - std::lgamma(groups - r + 1.0));
    sum += ways * std::pow(1 - none, r) * std::pow(none, groups - r);
  }
  return sum;
}

// For 1,024 of 128,256 elements in eight parts of 32 groups no rank was safe, but the last was
// taken: nearly every such row was read twice.
TEST(BufferedMultiSelectShape, RankOfGroupsIsTheLeastThatIsSafeOrNone) {
  constexpr int groups = 32;
  constexpr double probability = 5e-4;
  for (const double expected : {0.01, 0.08, 0.5, 1.0, 1.5}) {
    const position r = safe_rank_of_groups(groups, expected, probability);
    ASSERT_GT(r, 0U) << expected;
    EXPECT_LE(groups_tail(groups, expected, static_cast<int>(r)), probability) << expected;
    EXPECT_GT(groups_tail(groups, expected, static_cast<int>(r) - 1), probability) << expected;
  }
  for (const double expected : {1.6, 4.0, 20.0}) {
    EXPECT_GT(groups_tail(groups, expected, groups), probability) << expected;
    EXPECT_EQ(safe_rank_of_groups(groups, expected, probability), 0U) << expected;
  }
}

// For a large k, more threads are used if 256 cannot hold the row in registers.
TEST(BufferedMultiSelectShape, MoreThreadsWhereTheyHoldARow) {
  device card;
  card.kind = executor_kind::cuda;
  card.multiprocessors = 132;
  problem p;
  p.q = 8192;
  const auto threads = [&]<class T>(T, std::int64_t n, std::int64_t k) {
    p.n = n;
    p.k = k;
    return threads_for<T>(p, card);
  };
  EXPECT_EQ(threads(float{}, 16384, 2048), 512);
  EXPECT_EQ(threads(float{}, 8820, 2438), 512);
  EXPECT_EQ(threads(float{}, 16384, 1024), 256);  // k is small enough for a threshold
  EXPECT_EQ(threads(float{}, 8192, 2048), 256);   // 256 hold it
  EXPECT_EQ(threads(float{}, 17000, 2040), 256);  // 512 do not
  EXPECT_EQ(threads(float{}, 8192, 32), 128);
  EXPECT_EQ(threads(float16{}, 16384, 2048), 512);
  EXPECT_EQ(threads(double{}, 8192, 1024), 512);
  EXPECT_EQ(threads(double{}, 4096, 1024), 128);
}

TEST(BufferedMultiSelectShape, AsManyThreadsAsARowFills) {
  EXPECT_EQ(fitted<float>(128, 4096), 128);
  EXPECT_EQ(fitted<float>(128, 3001), 96);
  EXPECT_EQ(fitted<float>(128, 6000), 96);   // two tiles
  EXPECT_EQ(fitted<float>(128, 5000), 160);  // one, rather than two of 96
  EXPECT_EQ(fitted<float>(128, 10'000), 160);
  EXPECT_EQ(fitted<float>(256, 1 << 20), 256);
  EXPECT_EQ(fitted<float>(128, 100), 64);
  EXPECT_EQ(fitted<double>(256, 4096), 256);
  EXPECT_EQ(fitted<float16>(128, 3001), 96);
  EXPECT_EQ(fitted<float>(1024, 1'000'003), 1024);
  for (const int threads : {128, 256, 512}) {
    for (std::int64_t n = 1; n < 1 << 20; n = n * 9 / 8 + 1) {
      const int found = fitted<float>(threads, n);
      EXPECT_EQ(found % simt::warp_size, 0) << n;
      EXPECT_GE(found, 64) << n;
      EXPECT_LE(4 * found, 5 * threads) << n;
      if (found == 64) continue;
      const std::int64_t tiles = (n + found * 32 - 1) / (found * 32);
      EXPECT_GT(n, tiles * (found - simt::warp_size) * 32) << threads << ": a warp is idle, " << n;
    }
  }
}

TEST(BufferedMultiSelectShape, APlanHoldsWhatTheKernelsNeed) {
  for (const int threads : {32, 64, 256, 512}) {
    for (const int loads : {4, 8}) {
      for (std::int64_t n = 1; n <= 1 << 22; n = n * 3 + 1) {
        for (std::int64_t k = 1; k <= std::min<std::int64_t>(n, 4096); k = k * 2 + 1) {
          const auto p = filtering_plan<float, true>(n, k, {threads, loads}, 96 << 10);
          if (!p) continue;
          EXPECT_LE(p->rank, k);
          EXPECT_LE(p->rank + p->slack, static_cast<position>(threads) * p->groups);
          EXPECT_GE(p->kept_most, k);
          EXPECT_GT(p->capacity, p->kept_most);  // else a cut would free no space
          EXPECT_GE(static_cast<std::int64_t>(p->tiles) * threads * loads * 4, n);
          EXPECT_LE((team_memory<float, true>::bytes(*p)), std::size_t{96} << 10);
          EXPECT_EQ((team_memory<float, true>::bytes(*p)) % 16, 0U);
        }
      }
    }
  }
}

// For a large k, more and smaller groups admit fewer elements.
TEST(BufferedMultiSelectShape, ManyGroupsHoldMoreBack) {
  for (const auto& [n, k] : {std::pair{16'384, 1024}, std::pair{32'768, 2048}}) {
    const auto few = filtering_plan<float, true>(n, k, {512, 8}, 96 << 10);
    const auto many = filtering_plan<float, true>(n, k, {512, 8, many_groups}, 96 << 10);
    ASSERT_TRUE(few && many);
    EXPECT_GE(many->groups, few->groups);
    EXPECT_LT(many->survivors, few->survivors);
    EXPECT_GT(many->survivors, static_cast<position>(k));
  }
}

// A load has eight 16-bit elements: with half the loads a tile is as large as for float32.
TEST(BufferedMultiSelectShape, SixteenBitRowsTakeHalfTheLoads) {
  for (const std::int64_t n : {1000, 8192, 100'000}) {
    for (const std::int64_t k : {1, 32, 256}) {
      const auto narrow = filtering_plan<float16, true>(n, k, {256, 4}, 96 << 10);
      const auto wide = filtering_plan<float, true>(n, k, {256, 8}, 96 << 10);
      ASSERT_TRUE(narrow && wide);
      EXPECT_EQ(narrow->tiles, wide->tiles);
      EXPECT_EQ(narrow->rank, wide->rank);
      EXPECT_LE(narrow->groups, 8U);
      EXPECT_LE(narrow->rank + narrow->slack, 256 * narrow->groups);
    }
  }
  EXPECT_TRUE((resident_plan<float16, true>(8192, 7000, {256, 4}, 96 << 10).has_value()));
  EXPECT_FALSE((resident_plan<float16, true>(8193, 7000, {256, 4}, 96 << 10).has_value()));
}

TEST(BufferedMultiSelectShape, TakesTheShapesThatItIsMeantFor) {
  const auto takes = [](std::int64_t n, std::int64_t k, const reading& how) {
    return filtering_plan<float, true>(n, k, how, 96 << 10).has_value();
  };
  EXPECT_TRUE(takes(1024, 8, {32, 8}));
  EXPECT_TRUE(takes(8192, 256, {256, 8}));
  EXPECT_TRUE(takes(131'072, 2048, {512, 4}));
  EXPECT_FALSE(takes(1024, 900, {32, 8}));         // nearly the whole row
  EXPECT_FALSE(takes(1 << 20, 20'000, {512, 4}));  // more than shared memory
  EXPECT_TRUE((resident_plan<float, true>(1024, 900, {32, 8}, 96 << 10).has_value()));
  EXPECT_FALSE((resident_plan<float, true>(1025, 900, {32, 8}, 96 << 10).has_value()));
}

}  // namespace
}  // namespace kselect::bms
