// Compares merged lists with a sort of all elements.

#include "search/knn/tiled/neighbour_lists.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "lists.hpp"

namespace kselect::search {
namespace {

using namespace testing_lists;

struct columns {
  std::vector<float> distances;
  std::vector<std::int64_t> indices;
};
columns split(const list& l, std::int64_t offset = 0) {
  columns both;
  for (const neighbour& n : l) {
    both.distances.push_back(n.distance);
    both.indices.push_back(n.index - offset);
  }
  return both;
}

void expect_row(const neighbour_lists& found, std::int64_t query, const list& expected) {
  for (std::int64_t i = 0; i < found.k(); ++i) {
    const auto at = static_cast<std::size_t>(query * found.k() + i);
    EXPECT_EQ(found.distances()[at], expected[static_cast<std::size_t>(i)].distance) << i;
    EXPECT_EQ(found.indices()[at], expected[static_cast<std::size_t>(i)].index) << i;
  }
}

TEST(NeighbourLists, MergingTilesIsSortingTheirUnion) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t k = 1 + random() % 9;
    const bool excludes = seed % 3 == 0;
    neighbour_lists found(2, k);
    list all;
    std::int64_t first = 0;
    std::vector<std::int64_t> order(1 + random() % 6);
    const std::int64_t excluded = excludes ? static_cast<std::int64_t>(random() % 20) : -5;
    for (std::size_t t = 0; t < order.size(); ++t) {
      const std::int64_t size = random() % 8;
      const list tile = some_list(random, first, size, 1 + static_cast<int>(random() % 6));
      const columns both = split(tile, first);
      found.merge(1, {both.distances, both.indices, first, excluded});
      for (const neighbour& n : tile) {
        if (n.index != excluded) all.push_back(n);
      }
      first += size;
    }
    SCOPED_TRACE(seed);
    expect_row(found, 1, first_of(all, k));
    expect_row(found, 0, first_of({}, k));
  }
}

TEST(NeighbourLists, TheOrderOfTilesDoesNotMatter) {
  std::mt19937 random(7);
  std::vector<list> tiles;
  for (int t = 0; t < 5; ++t) tiles.push_back(some_list(random, 10 * t, 10, 3));
  neighbour_lists forwards(1, 12), backwards(1, 12);
  for (int t = 0; t < 5; ++t) {
    const columns f = split(tiles[static_cast<std::size_t>(t)]);
    forwards.merge(0, {f.distances, f.indices});
    const columns b = split(tiles[static_cast<std::size_t>(4 - t)]);
    backwards.merge(0, {b.distances, b.indices});
  }
  EXPECT_TRUE(std::ranges::equal(forwards.indices(), backwards.indices()));
}

TEST(NeighbourLists, RealInfiniteDistancesComeBeforeNothing) {
  neighbour_lists found(1, 3);
  const columns far{{std::numeric_limits<float>::infinity()}, {4}};
  found.merge(0, {far.distances, far.indices});
  EXPECT_EQ(found.indices()[0], 4);
  EXPECT_EQ(found.indices()[1], no_neighbour);
}

TEST(MergeLists, ManyListsOfManyQueries) {
  for (const std::int64_t lists : {1, 2, 3, 17}) {
    for (const std::int64_t k : {1, 2, 10, 100}) {
      const list_table table = some_table(static_cast<unsigned>(100 * lists + k), lists, 5, k);
      neighbour_lists merged(5, k);
      merge_lists(lists, {table.distances, table.indices}, 2, merged);
      EXPECT_TRUE(is_merged(table, merged.distances(), merged.indices())) << lists << " " << k;
    }
  }
}

TEST(MergeLists, ANeighbourOfSeveralListsCountsOnce) {
  const std::vector<float> distances = {1, 2, 3, 1, 3, 9, 2, 3, 3};
  const std::vector<std::int64_t> indices = {5, 6, 7, 5, 7, 8, 6, 4, 7};
  neighbour_lists merged(1, 3);
  merge_lists(3, {distances, indices}, 1, merged);
  EXPECT_EQ(std::vector(merged.indices().begin(), merged.indices().end()),
            (std::vector<std::int64_t>{5, 6, 4}));
}

// The lists of a table cut to `length`.
columns beginnings(const list_table& table, std::int64_t length) {
  columns cut;
  for (std::int64_t row = 0; row < table.lists * table.queries; ++row) {
    const auto first = table.distances.begin() + row * table.k;
    cut.distances.insert(cut.distances.end(), first, first + length);
    const auto first_index = table.indices.begin() + row * table.k;
    cut.indices.insert(cut.indices.end(), first_index, first_index + length);
  }
  return cut;
}

// How many of the first neighbours of all lists together are certain if lists end after `length`
// neighbours, or before.
std::int64_t certain_of(const list_table& table, std::int64_t query, std::int64_t length) {
  std::vector<std::int64_t> left;
  for (std::int64_t l = 0; l < table.lists; ++l) {
    const auto row = table.indices.begin() + (l * table.queries + query) * table.k;
    left.push_back(std::count_if(row, row + length, [](auto i) { return i != no_neighbour; }));
  }
  std::int64_t certain = 0;
  for (const neighbour& next : table.merged[static_cast<std::size_t>(query)]) {
    if (std::ranges::find(left, 0) != left.end()) break;
    --left[static_cast<std::size_t>(next.index / 10000)];  // a list has indices of its own
    ++certain;
  }
  return certain;
}

TEST(MergeBeginnings, AreRightUntilAListEnds) {
  constexpr std::int64_t k = 12, queries = 40;
  std::int64_t lacked = 0;
  for (const std::int64_t lists : {2, 3, 17}) {
    const list_table table = some_table(static_cast<unsigned>(lists), lists, queries, k);
    for (const std::int64_t length : {1, 5, 9, 12}) {
      SCOPED_TRACE(testing::Message() << lists << " lists of " << length);
      const columns cut = beginnings(table, length);
      neighbour_lists merged(queries, k);
      std::vector<std::uint8_t> lacking(queries, 7);
      merge_beginnings(lists, length, {cut.distances, cut.indices}, 2, merged, lacking);
      for (std::int64_t q = 0; q < queries; ++q) {
        const std::int64_t certain = certain_of(table, q, length);
        list expected = table.merged[static_cast<std::size_t>(q)];
        expected.resize(static_cast<std::size_t>(certain));
        expect_row(merged, q, first_of(expected, k));
        EXPECT_EQ(lacking[static_cast<std::size_t>(q)], certain < k ? 1 : 0) << q;
        lacked += certain < k ? 1 : 0;
      }
    }
  }
  EXPECT_GT(lacked, 100);
  EXPECT_LT(lacked, 12 * queries - 20) << "none of the lists suffices";
}

}  // namespace
}  // namespace kselect::search
