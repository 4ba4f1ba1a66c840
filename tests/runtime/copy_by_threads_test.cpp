// Pieces are copied whole, whichever thread's share their bytes fall into.

#include "runtime/copy_by_threads.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::runtime {
namespace {

TEST(CopyByThreads, CopiesPiecesOfAnyLength) {
  std::mt19937 random(5);
  // Empty ones, few bytes for one thread, and many for a team.
  for (const std::size_t longest : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    std::vector<std::vector<std::byte>> from, to;
    std::vector<moved_bytes> pieces = {{nullptr, nullptr, 0}};
    for (int p = 0; p < 12; ++p) {
      from.emplace_back(random() % (longest + 1));
      for (std::byte& b : from.back()) b = static_cast<std::byte>(random());
      to.emplace_back(from.back().size());
    }
    for (std::size_t p = 0; p < from.size(); ++p) {
      pieces.push_back({to[p].data(), from[p].data(), from[p].size()});
    }
    copy_by_threads(pieces, 3);
    EXPECT_EQ(to, from);
  }
}

TEST(CopyByThreads, ATeamHasTheSameSizeForAllCopies) {
  EXPECT_EQ(moving_threads(0), 1);
  EXPECT_EQ(moving_threads(3), 3);
  EXPECT_EQ(moving_threads(64), moving_threads(32));
}

}  // namespace
}  // namespace kselect::runtime
