#pragma once
// Sorted neighbour lists with many ties, for tests of merging.

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "search/knn/tiled/neighbour_lists.hpp"

namespace kselect::search::testing_lists {

using list = std::vector<neighbour>;

// `size` neighbours in order, with indices from `first` on and few distinct distances.
inline list some_list(std::mt19937& random, std::int64_t first, std::int64_t size, int distances) {
  list made;
  for (std::int64_t i = 0; i < size; ++i) {
    made.push_back({static_cast<float>(random() % static_cast<unsigned>(distances)), first + i});
  }
  std::sort(made.begin(), made.end());
  return made;
}

// The first k of all in order, padded to k.
inline list first_of(list all, std::int64_t k) {
  std::sort(all.begin(), all.end());
  all.resize(static_cast<std::size_t>(k), {std::numeric_limits<float>::infinity(), no_neighbour});
  return all;
}

struct list_table {
  std::int64_t lists, queries, k;
  std::vector<float> distances;       // [lists][queries][k]
  std::vector<std::int64_t> indices;  // [lists][queries][k]
  std::vector<list> merged;           // the right answer of each query
};

// Lists of disjoint parts of a corpus, some of them shorter than k or empty.
inline list_table some_table(unsigned seed, std::int64_t lists, std::int64_t queries,
                             std::int64_t k) {
  std::mt19937 random(seed);
  list_table table{lists, queries, k, {}, {}, {}};
  table.merged.resize(static_cast<std::size_t>(queries));
  for (std::int64_t l = 0; l < lists; ++l) {
    for (std::int64_t q = 0; q < queries; ++q) {
      const auto size = static_cast<std::int64_t>(random() % static_cast<unsigned>(k + 3));
      const list one = first_of(some_list(random, 10000 * l, size, 4), k);
      list& all = table.merged[static_cast<std::size_t>(q)];
      for (const neighbour& n : one) {
        table.distances.push_back(n.distance);
        table.indices.push_back(n.index);
        all.push_back(n);
      }
    }
  }
  for (list& all : table.merged) all = first_of(std::move(all), k);
  return table;
}

// Whether row-major answers [queries][k] are right.
inline bool is_merged(const list_table& table, std::span<const float> distances,
                      std::span<const std::int64_t> indices) {
  std::size_t at = 0;
  for (const list& row : table.merged) {
    for (const neighbour& expected : row) {
      if (distances[at] != expected.distance || indices[at] != expected.index) return false;
      ++at;
    }
  }
  return at == distances.size() && at == indices.size();
}

}  // namespace kselect::search::testing_lists
