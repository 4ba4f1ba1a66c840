#pragma once
// Lists that grow tile by tile in an executor's memory, against lists that the host merges.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/tiled/running_lists.hpp"

namespace kselect::search::testing_lists {

// Answers of one tile of the corpus, as a search writes them.
struct tile_answers {
  std::int64_t k = 0, first = 0;
  std::vector<std::int64_t> indices;  // [queries][k], from 0 in each tile; -1: none
  std::vector<float> distances;
  std::vector<double> exact;
};

// Of `vectors` vectors, with few distinct distances and some lists that are not full.
inline tile_answers some_answers(std::mt19937& bits, std::int64_t queries, std::int64_t k,
                                 std::int64_t first, std::int64_t vectors) {
  tile_answers made{
      .k = std::min(k, vectors), .first = first, .indices = {}, .distances = {}, .exact = {}};
  for (std::int64_t q = 0; q < queries; ++q) {
    std::vector<std::tuple<double, std::int64_t>> all;
    for (std::int64_t v = 0; v < vectors; ++v) {
      all.emplace_back(static_cast<double>(bits() % 7) - 3, v);
    }
    std::ranges::sort(all);
    const std::int64_t full = q % 3 == 2 ? made.k / 2 : made.k;
    for (std::int64_t j = 0; j < made.k; ++j) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      const auto [exact, vector] =
          j < full ? all[index(j)] : std::tuple{infinity, std::int64_t{-1}};
      made.indices.push_back(vector);
      made.distances.push_back(static_cast<float>(exact));
      made.exact.push_back(exact);
    }
  }
  return made;
}

// What the host merges of the same answers.
inline neighbour_lists merged_by_host(const std::vector<tile_answers>& tiles, std::int64_t queries,
                                      std::int64_t k, std::int64_t first_own) {
  neighbour_lists lists(queries, k);
  for (const tile_answers& tile : tiles) {
    for (std::int64_t q = 0; q < queries; ++q) {
      const std::size_t at = index(q * tile.k);
      std::size_t length = index(tile.k);
      while (length > 0 && tile.indices[at + length - 1] < 0) --length;
      lists.merge(q, {.distances = std::span(tile.distances).subspan(at, length),
                      .indices = std::span(tile.indices).subspan(at, length),
                      .offset = tile.first,
                      .excluded = first_own == no_neighbour ? no_neighbour : first_own + q,
                      .ranked = std::span(tile.exact).subspan(at, length)});
    }
  }
  return lists;
}

inline void expect_equal(const neighbour_lists& found, const neighbour_lists& right) {
  EXPECT_TRUE(std::ranges::equal(found.indices(), right.indices()));
  EXPECT_TRUE(std::ranges::equal(found.distances(), right.distances()));
  EXPECT_TRUE(std::ranges::equal(found.ranked(), right.ranked()));
}

inline void write(backend& place, const tile_answers& from, const fused::answers& to) {
  const auto bring = [&](const auto& numbers, const auto& all) {
    place.to_device(reinterpret_cast<std::byte*>(all.data), std::as_bytes(std::span(numbers)));
  };
  bring(from.indices, to.indices);
  bring(from.distances, to.distances);
  bring(from.exact, to.exact);
}

struct growing_case {
  std::int64_t queries, k;
  std::vector<std::int64_t> tiles;  // vectors of each
  bool own;                         // each query leaves out a vector
};

// Merges the tiles one by one. `lists` may have been used before.
inline void expect_lists_of(backend& place, running_lists& lists, const growing_case& c) {
  std::mt19937 bits(static_cast<unsigned>(c.queries * 100 + c.k));
  const std::int64_t first_own = c.own ? 3 : no_neighbour, most = c.k + (c.own ? 1 : 0);
  std::vector<tile_answers> tiles;
  std::int64_t first = 0;
  lists.begin(c.queries, most);
  for (const std::int64_t vectors : c.tiles) {
    tiles.push_back(some_answers(bits, c.queries, most, first, vectors));
    write(place, tiles.back(), lists.next(tiles.back().k));
    lists.merge(first);
    first += vectors;
    const neighbour_lists so_far = merged_by_host(tiles, c.queries, most, no_neighbour);
    for (const std::int64_t at : {std::int64_t{0}, most - 1}) {
      const std::vector<double> column = lists.column(at);
      for (std::int64_t q = 0; q < c.queries; ++q) {
        ASSERT_EQ(column[index(q)], so_far.ranked()[index(q * most + at)]) << q << ", " << at;
      }
    }
  }
  neighbour_lists found(c.queries, c.k);
  lists.bring(first_own, found);
  expect_equal(found, merged_by_host(tiles, c.queries, c.k, first_own));
}

inline void expect_lists_on(backend& place) {
  running_lists lists(place, false);
  for (const growing_case& c : {growing_case{1, 1, {1}, false},
                                {5, 4, {9, 9, 9}, false},
                                {4, 6, {2, 3, 20}, false},
                                {7, 30, {8, 4, 1}, false},
                                {40, 33, {100, 70, 1, 64}, false},
                                {6, 5, {9, 2, 12}, true},
                                {3, 9, {4, 2}, true}}) {
    SCOPED_TRACE(testing::Message() << c.queries << " queries, k = " << c.k << ", "
                                    << c.tiles.size() << " tiles, own: " << c.own);
    expect_lists_of(place, lists, c);
  }
}

}  // namespace kselect::search::testing_lists
