#pragma once
// Small sets of objects for tests of indexes.

#include <random>
#include <vector>

#include "search/metric/metrics/euclidean.hpp"
#include "search/metric/metrics/levenshtein.hpp"
#include "search/metric/metrics/levenshtein_table.hpp"

namespace kselect::search::metric_space {

inline std::vector<float> normal_data(std::int64_t count, std::int64_t dimension,
                                      std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  for (float& x : data) x = normal(random);
  return data;
}

// Normal vectors of dimension 3, every tenth on a coarse grid, so that distances tie; or words of
// few letters, whose distances often tie. Some objects occur twice.
template <class M>
typename M::set test_objects(std::int64_t count, std::uint32_t seed);

template <>
inline euclidean::set test_objects<euclidean>(std::int64_t count, std::uint32_t seed) {
  constexpr std::int64_t dimension = 3;
  std::vector<float> data = normal_data(count, dimension, seed);
  for (std::int64_t i = 0; i < count; i += 10) {
    for (std::int64_t c = 0; c < dimension; ++c) {
      float& x = data[static_cast<std::size_t>(i * dimension + c)];
      x = std::round(x);
    }
  }
  return {data, count, dimension};
}

template <>
inline levenshtein::set test_objects<levenshtein>(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<word> words;
  for (std::int64_t i = 0; i < count; ++i) {
    word w;
    const std::size_t length = i % 17 == 0 ? 70 + random() % 8 : 1 + random() % 12;
    for (std::size_t c = 0; c < length; ++c)
      w.push_back(static_cast<char32_t>(U'a' + random() % 4));
    words.push_back(w);
  }
  return levenshtein::set(words);
}

template <>
inline levenshtein::set test_objects<levenshtein_table>(std::int64_t count, std::uint32_t seed) {
  return test_objects<levenshtein>(count, seed);
}

}  // namespace kselect::search::metric_space
