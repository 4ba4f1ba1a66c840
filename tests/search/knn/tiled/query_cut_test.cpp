// Tiles of queries cover all queries in order, and are short at the ends where that costs nothing.

#include "search/knn/tiled/query_cut.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/tiled/plan.hpp"

namespace kselect::search {
namespace {

std::vector<std::int64_t> lengths_of(const query_range& range) {
  const query_cut cut(range);
  std::vector<std::int64_t> lengths;
  for (std::int64_t t = 0; t < cut.tiles(); ++t) {
    EXPECT_EQ(cut.first_of(t), t == 0 ? range.first : cut.first_of(t - 1) + lengths.back());
    lengths.push_back(cut.count_of(t));
  }
  EXPECT_EQ(cut.first_of(cut.tiles()), range.end);
  EXPECT_EQ(cut.longest(), lengths.empty() ? 0 : std::ranges::max(lengths));
  return lengths;
}

TEST(QueryCut, HasWholeTilesAndARest) {
  using lengths = std::vector<std::int64_t>;
  EXPECT_EQ(lengths_of({.first = 0, .end = 5, .tile = 2, .k = 3}), (lengths{2, 2, 1}));
  EXPECT_EQ(lengths_of({.first = 4, .end = 8, .tile = 4, .k = 3}), (lengths{4}));
  EXPECT_EQ(lengths_of({.first = 7, .end = 7, .tile = 4, .k = 3}), lengths{});
}

// Between them the tiles are even: a short one would not hide the lists of the one before it.
TEST(QueryCut, HasShortEnds) {
  for (const std::int64_t queries : {32'768, 91'001, 100'000, 200'000, 239'000}) {
    const std::vector<std::int64_t> lengths =
        lengths_of({.first = 100, .end = 100 + queries, .tile = 8192, .k = 3, .short_ends = true});
    ASSERT_GT(lengths.size(), 5U);
    EXPECT_EQ(lengths.front(), 2048);
    EXPECT_EQ(std::vector(lengths.end() - 3, lengths.end()),
              (std::vector<std::int64_t>{4096, 2048, 1024}));
    const auto [least, most] = std::minmax_element(lengths.begin() + 1, lengths.end() - 3);
    EXPECT_LE(*most, 8192);
    EXPECT_LE(*most - *least, 2 * query_unit);
  }
}

// Where they would be most of the search, or have no whole unit of queries.
TEST(QueryCut, HasNoShortEndsOfFewOrSmallTiles) {
  EXPECT_EQ(
      lengths_of({.first = 0, .end = 32'767, .tile = 8192, .k = 3, .short_ends = true}).front(),
      8192);
  EXPECT_EQ(
      lengths_of({.first = 0, .end = 32'768, .tile = 8192, .k = 3, .short_ends = true}).front(),
      2048);
  EXPECT_EQ(lengths_of({.first = 0, .end = 10'240, .tile = 1024, .k = 3, .short_ends = true}),
            std::vector<std::int64_t>(10, 1024));
}

}  // namespace
}  // namespace kselect::search
