// A tile counts as loaded only if it is still in its slot, and a slot is never loaded while its
// tile is in use.

#include "search/knn/tile_turns.hpp"

#include <gtest/gtest.h>

namespace kselect::search {
namespace {

// Plays the user: loads the tiles as told, and checks the tiles that it is told to work on.
class player {
 public:
  player(std::int64_t tiles, std::int64_t slots)
      : turns_(tiles, slots), memory_(turns_.slots(), -1) {}

  void pass(std::int64_t number) {
    for (std::int64_t t = 0; t < turns_.tiles(); ++t) {
      const tile_turns::turn now = turns_.next();
      ASSERT_EQ(now.tile, number % 2 == 0 ? t : turns_.tiles() - 1 - t);
      if (now.load) load(now);
      ASSERT_EQ(memory_[now.slot], now.tile);
      if (const auto after = turns_.ahead()) {
        ASSERT_NE(after->slot, now.slot);
        load(*after);
      }
    }
  }
  std::int64_t loads() const { return loads_; }

 private:
  void load(const tile_turns::turn& what) {
    memory_[what.slot] = what.tile;
    ++loads_;
  }

  tile_turns turns_;
  std::vector<std::int64_t> memory_;
  std::int64_t loads_ = 0;
};

TEST(TileTurns, TwoSlotsKeepTheTurnOfAPass) {
  for (const std::int64_t tiles : {1, 2, 3, 4, 5, 20}) {
    player user(tiles, 2);
    for (std::int64_t pass = 0; pass < 5; ++pass) {
      user.pass(pass);
      // The first pass loads all tiles; later passes reuse the two tiles at which they turn.
      const std::int64_t later = tiles <= 2 ? 0 : tiles - 2;
      ASSERT_EQ(user.loads(), tiles + pass * later) << tiles << " tiles, pass " << pass;
    }
  }
}

TEST(TileTurns, WithASlotATileEachIsLoadedOnce) {
  for (const std::int64_t tiles : {1, 2, 3, 20}) {
    for (const std::int64_t slots : {tiles, tiles + 5}) {
      player user(tiles, slots);
      for (std::int64_t pass = 0; pass < 4; ++pass) {
        user.pass(pass);
        ASSERT_EQ(user.loads(), tiles);
      }
    }
  }
}

TEST(TileTurns, OnlyTheFirstTileIsNotLoadedAhead) {
  tile_turns turns(5, 2);
  for (int step = 0; step < 40; ++step) {
    EXPECT_EQ(turns.next().load, step == 0) << step;
    turns.ahead();
  }
}

}  // namespace
}  // namespace kselect::search
