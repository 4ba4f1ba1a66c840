#include "harness/measure/latin_square.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

namespace kselect::harness {
namespace {

TEST(LatinSquare, EveryContenderStandsOnceInEveryPlace) {
  for (int n = 1; n <= 9; ++n) {
    std::vector<std::vector<int>> seen(static_cast<std::size_t>(n));
    for (int round = 0; round < n; ++round) {
      const std::vector<int> order = order_of_round(n, round, n);
      ASSERT_EQ(order.size(), static_cast<std::size_t>(n));
      for (int place = 0; place < n; ++place) {
        seen[static_cast<std::size_t>(place)].push_back(order[static_cast<std::size_t>(place)]);
      }
    }
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    for (auto& at_place : seen) {
      std::ranges::sort(at_place);
      EXPECT_EQ(at_place, all) << n;
    }
  }
}

TEST(LatinSquare, EveryContenderFollowsEveryOtherEquallyOften) {
  for (const int n : {2, 3, 4, 5, 8, 9}) {
    std::map<std::pair<int, int>, int> followed;
    for (int round = 0; round < 2 * n; ++round) {
      const std::vector<int> order = order_of_round(n, round, n);
      for (std::size_t i = 1; i < order.size(); ++i) ++followed[{order[i - 1], order[i]}];
    }
    EXPECT_EQ(followed.size(), static_cast<std::size_t>(n * (n - 1))) << n;
    for (const auto& [pair, times] : followed) EXPECT_EQ(times, 2) << n;
  }
}

TEST(LatinSquare, FewRoundsAreSpreadOverManyContenders) {
  std::vector<int> first;
  for (int round = 0; round < 4; ++round) first.push_back(order_of_round(40, round, 4).front());
  EXPECT_EQ(first, (std::vector{0, 10, 20, 30}));
}

}  // namespace
}  // namespace kselect::harness
