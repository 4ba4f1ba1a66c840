// The limit of a kernel's dynamic shared memory never falls, whoever asks.

#include "kselect/simt/shared_limit.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::simt {
namespace {

TEST(shared_limit, rises_and_never_falls) {
  shared_limit limit;
  const auto same = [](std::size_t bytes) { return bytes; };
  EXPECT_EQ(limit.raise(60, 200, same), 60U);
  EXPECT_EQ(limit.raise(100, 200, same), 100U);
  EXPECT_EQ(limit.raise(60, 200, same), 100U);
  // On a device that has less, and where it is unknown how much there is.
  EXPECT_EQ(limit.raise(60, 80, same), 80U);
  EXPECT_EQ(limit.raise(60, 0, same), 60U);
  // What a launch asks for in vain is asked for, and limits no other.
  EXPECT_EQ(limit.raise(1000, 200, same), 1000U);
  EXPECT_EQ(limit.raise(60, 200, same), 200U);
}

// As a launch does: a thread asks for a limit, and then relies on it.
TEST(shared_limit, holds_while_other_threads_ask_for_less) {
  shared_limit limit;
  std::atomic<std::size_t> set = 0;
  std::atomic<int> failed = 0;
  const auto launch = [&](std::size_t wanted) {
    limit.raise(wanted, 1 << 20, [&](std::size_t bytes) {
      set = bytes;
      return 0;
    });
    std::this_thread::yield();
    if (set < wanted) ++failed;
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 1; t <= 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 200; ++i) launch(t * 100 + i % 7);
      });
    }
  }
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace kselect::simt
