// Errands are done in the order of their posting, by one thread, and none after one that failed.

#include "search/knn/tiled/courier.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::search {
namespace {

class Courier : public testing::TestWithParam<bool> {};

TEST_P(Courier, DoesErrandsInTheirOrder) {
  std::vector<int> done;
  courier one(GetParam(), [&] { done.push_back(-1); });
  std::vector<std::future<void>> posted;
  for (int i = 0; i < 100; ++i) posted.push_back(one.post([&done, i] { done.push_back(i); }));
  for (auto& errand : posted) errand.get();
  std::vector<int> expected;
  for (int i = GetParam() ? -1 : 0; i < 100; ++i) expected.push_back(i);
  EXPECT_EQ(done, expected);
}

TEST_P(Courier, DoesNoneAfterOneThatFailed) {
  bool later = false;
  courier one(GetParam(), [] {});
  auto first = one.post([] { throw std::runtime_error("lost"); });
  auto second = one.post([&] { later = true; });
  EXPECT_THROW(first.get(), std::runtime_error);
  EXPECT_THROW(second.get(), std::runtime_error);
  EXPECT_FALSE(later);
}

INSTANTIATE_TEST_SUITE_P(Beside, Courier, testing::Bool());

TEST(CourierBeside, WorksWhileItsOwnerDoes) {
  courier one(true, [] {});
  std::latch begun(1), owner_went_on(1);
  std::thread::id other;
  auto errand = one.post([&] {
    other = std::this_thread::get_id();
    begun.count_down();
    owner_went_on.wait();
  });
  begun.wait();
  owner_went_on.count_down();
  errand.get();
  EXPECT_NE(other, std::this_thread::get_id());
}

TEST(CourierBeside, DropsWhatHasNotBegunWhenItEnds) {
  std::atomic<int> done = 0;
  std::latch begun(1), ending(1);
  std::jthread release;
  {
    courier one(true, [] {});
    one.post([&] {
      begun.count_down();
      ending.wait();
      ++done;
    });
    std::future<void> second = one.post([&] { ++done; });
    begun.wait();
    // The destructor drops the second errand before it waits for the first. The future of what is
    // dropped is ready. A destructor that drops nothing is found after the limit.
    release = std::jthread([&ending, dropped = std::move(second)] {
      dropped.wait_for(std::chrono::seconds(60));
      ending.count_down();
    });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace kselect::search
