// Bounds that ranks share are those of their formula, are never below the k-th neighbour of all,
// and cut survivors.

#include "search/knn/tiled/bound_sharing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace kselect::search::shared_bounds {
namespace {

// [ranks][queries][k], ascending; some lists are not full.
std::vector<neighbour_lists> lists_of_ranks(int ranks, std::int64_t queries, std::int64_t k) {
  std::mt19937 bits(static_cast<unsigned>(ranks * 100 + k));
  std::vector<neighbour_lists> all;
  for (int r = 0; r < ranks; ++r) {
    all.emplace_back(queries, k);
    for (std::int64_t q = 0; q < queries; ++q) {
      std::vector<double> found;
      for (std::int64_t i = 0; i < (q % 5 == 4 ? k / 2 : k); ++i) {
        found.push_back(static_cast<double>(bits() % 1000) - 200);
      }
      std::ranges::sort(found);
      std::ranges::copy(found, all.back().ranked().begin() + q * k);
    }
  }
  return all;
}

double kth_of_all(const std::vector<neighbour_lists>& all, std::int64_t q, std::int64_t k) {
  std::vector<double> merged;
  for (const neighbour_lists& one : all) {
    const auto row = one.ranked().subspan(index(q * k), index(k));
    merged.insert(merged.end(), row.begin(), row.end());
  }
  std::ranges::sort(merged);
  return merged[index(k - 1)];
}

std::future<void> at_once(const std::function<void()>& errand) {
  std::packaged_task<void()> task(errand);
  std::future<void> done = task.get_future();
  task();
  return done;
}

void expect_bounds(int ranks, std::int64_t queries, std::int64_t k) {
  const std::vector<neighbour_lists> all = lists_of_ranks(ranks, queries, k);
  std::vector<double> seen;
  run_ranks(ranks, 60, [&](communicator& mine) {
    bound_sharing sharing(true, mine, at_once);
    sharing.begin();
    EXPECT_TRUE(sharing.known().empty());
    EXPECT_TRUE(sharing.offers());
    sharing.offer(all[static_cast<std::size_t>(mine.rank())]);
    EXPECT_FALSE(sharing.offers());
    const std::span<const double> known = sharing.known();
    if (mine.rank() == ranks - 1) seen.assign(known.begin(), known.end());
  });
  ASSERT_EQ(std::ssize(seen), queries);
  int sharp = 0;
  for (std::int64_t q = 0; q < queries; ++q) {
    const double right = kth_of_all(all, q, k);
    EXPECT_GE(seen[index(q)], right) << q;
    double least = std::numeric_limits<double>::infinity();
    for (const neighbour_lists& one : all)
      least = std::min(least, one.ranked()[index(q * k + k - 1)]);
    EXPECT_LE(seen[index(q)], least) << q;
    sharp += seen[index(q)] < least ? 1 : 0;
  }
  if (ranks > 1 && k > 8 && queries > 8) {
    EXPECT_GT(sharp, queries / 4) << "parts of lists bound more than one does";
  }
}

TEST(BoundSharing, IsNeverBelowTheNeighboursOfAllRanks) {
  for (const int ranks : {1, 2, 3}) {
    for (const std::int64_t k : {1, 2, 7, 32}) {
      for (const std::int64_t queries : {1, 2, 50}) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, k = " << k << ", " << queries);
        expect_bounds(ranks, queries, k);
      }
    }
  }
}

TEST(BoundSharing, SaysNothingWhereRanksDoNotShare) {
  const auto one = alone();
  bound_sharing sharing(false, *one, [](const std::function<void()>&) -> std::future<void> {
    ADD_FAILURE();
    return {};
  });
  sharing.begin();
  sharing.offer(neighbour_lists(3, 2));
  EXPECT_FALSE(sharing.offers());
  EXPECT_TRUE(sharing.known().empty());
}

}  // namespace
}  // namespace kselect::search::shared_bounds
