// Ranks that are threads: messages arrive at the right rank, and a rank that fails or hangs is
// named.

#include <atomic>
#include <gmock/gmock.h>
#include <latch>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "search/exchange/communicator.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

using testing::HasSubstr;

constexpr double long_enough = 60;

class ThreadRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, ThreadRanks, testing::Values(1, 2, 3, 7));

TEST_P(ThreadRanks, EachHasItsNumber) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(GetParam()));
  const auto caller = std::this_thread::get_id();
  run_ranks(GetParam(), long_enough, [&](communicator& ranks) {
    ++seen[static_cast<std::size_t>(ranks.rank())];
    EXPECT_EQ(ranks.size(), GetParam());
    EXPECT_EQ(ranks.local_rank(), ranks.rank());
    EXPECT_EQ(ranks.local_size(), ranks.size());
    EXPECT_EQ(ranks.process_size(), ranks.size());
    EXPECT_EQ(std::this_thread::get_id() == caller, ranks.rank() == 0);
  });
  for (const auto& times : seen) EXPECT_EQ(times, 1);
}

TEST_P(ThreadRanks, BroadcastAndGatherAgainAndAgain) {
  run_ranks(GetParam(), long_enough, [&](communicator& ranks) {
    for (int round = 0; round < 50; ++round) {
      ranks.meet();
      std::array<int, 3> said{};
      if (ranks.rank() == 0) said = {round, 2, 3};
      ranks.broadcast(std::as_writable_bytes(std::span(said)));
      ASSERT_EQ(said, (std::array{round, 2, 3}));
      const auto texts = ranks.gather(std::to_string(100 * round + ranks.rank()));
      ASSERT_EQ(texts.size(), ranks.rank() == 0 ? static_cast<std::size_t>(ranks.size()) : 0U);
      for (std::size_t r = 0; r < texts.size(); ++r) {
        ASSERT_EQ(texts[r], std::to_string(100 * round + static_cast<int>(r)));
      }
    }
  });
}

// Row i of rank r holds 1000 r + i and twice that number.
TEST_P(ThreadRanks, RowsGoToTheirRanksAndCome) {
  std::vector<std::int64_t> shares;
  for (int r = 0; r < GetParam(); ++r) shares.push_back((r * 5 + 3) % 7);
  const std::int64_t all = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  run_ranks(GetParam(), long_enough, [&](communicator& ranks) {
    const auto me = static_cast<std::size_t>(ranks.rank());
    std::vector<int> numbers(static_cast<std::size_t>(all));
    std::iota(numbers.begin(), numbers.end(), 1000 * ranks.rank());
    std::vector<double> doubles(numbers.begin(), numbers.end());
    for (double& x : doubles) x *= 2;
    std::vector<int> got(static_cast<std::size_t>(ranks.size() * shares[me]));
    std::vector<double> got_doubles(got.size());
    ranks.exchange(
        std::array<communicator::column, 2>{
            {{4, std::as_bytes(std::span(numbers)), std::as_writable_bytes(std::span(got))},
             {8, std::as_bytes(std::span(doubles)),
              std::as_writable_bytes(std::span(got_doubles))}}},
        shares);
    const auto before = std::accumulate(shares.begin(), shares.begin() + ranks.rank(), 0L);
    for (int from = 0; from < ranks.size(); ++from) {
      for (std::int64_t i = 0; i < shares[me]; ++i) {
        const auto at = static_cast<std::size_t>(from * shares[me] + i);
        ASSERT_EQ(got[at], 1000 * from + before + i);
        ASSERT_EQ(got_doubles[at], 2.0 * got[at]);
      }
    }
    // Every rank sends the rows from rank 0 back.
    std::vector<int> home(static_cast<std::size_t>(all), -1);
    const auto mine = std::span(got).first(static_cast<std::size_t>(shares[me]));
    ranks.collect(std::array<communicator::column, 1>{{{4, std::as_bytes(mine),
                                                        std::as_writable_bytes(std::span(home))}}},
                  shares);
    for (std::int64_t i = 0; i < all && ranks.rank() == 0; ++i) {
      ASSERT_EQ(home[static_cast<std::size_t>(i)], i);
    }
  });
}

TEST(ThreadRanksThatFail, EndTheOthersWaitsByName) {
  std::atomic<int> named{0};
  try {
    run_ranks(4, long_enough, [&](communicator& ranks) {
      ranks.gather({});
      if (ranks.rank() == 2) throw error(failure::input, "a bad file");
      try {
        ranks.gather({});
        FAIL() << "rank 2 was not missed";
      } catch (const error& missed) {
        EXPECT_EQ(missed.category(), failure::resources);
        EXPECT_THAT(missed.what(), HasSubstr("rank 2 of 4 has failed"));
        ++named;
        throw;
      }
    });
    FAIL() << "nothing thrown";
  } catch (const error& first) {
    EXPECT_EQ(first.category(), failure::input) << "the first cause, not what follows from it";
    EXPECT_THAT(first.what(), HasSubstr("a bad file"));
  }
  EXPECT_EQ(named, 3);
}

TEST(ThreadRanksThatFail, ThoseWhoDoNotComeAreNamed) {
  std::atomic<int> named{0};
  std::latch others(2), missed_by_others(2);
  const auto gather = [&](communicator& ranks) {
    // The late rank comes when the others have given it up, however slow the machine is.
    if (ranks.rank() == 1) {
      missed_by_others.wait();
    } else {
      others.arrive_and_wait();
    }
    try {
      ranks.gather({});
    } catch (const error& missed) {
      EXPECT_THAT(missed.what(), HasSubstr("rank 1 of 3 did not come to a gathering within 0.5 s"));
      ++named;
      if (ranks.rank() != 1) missed_by_others.count_down();
      throw;
    }
  };
  EXPECT_THROW(run_ranks(3, 0.5, gather), error);
  EXPECT_EQ(named, 3) << "the late one learns of it, too";
}

}  // namespace
}  // namespace kselect::search
