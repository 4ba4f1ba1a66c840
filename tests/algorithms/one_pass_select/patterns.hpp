#pragma once
// Lists of keys and rows that are difficult for a selection, and the vector types to test.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/one_pass_select/keys.hpp"
#include "algorithms/one_pass_select/lanes.hpp"
#include "algorithms/one_pass_select/order_statistic.hpp"

namespace kselect::one_pass {

// Tests compile for one target, the build's.
using namespace KSELECT_TARGET;

// The policies of lanes.hpp that this build has.
using every_lanes = testing::Types<
#if KSELECT_HAS_HIGHWAY && !HWY_HAVE_SCALABLE
    highway_lanes<std::int32_t>, highway_lanes<std::int64_t>,
#endif
    plain_lanes<std::int32_t>, plain_lanes<std::int64_t>>;

// The value type whose keys are of type Int.
template <class Int>
using value_of = std::conditional_t<sizeof(Int) == 4, float, double>;

template <class Int>
struct pattern {
  std::string name;
  std::vector<Int> keys;  // followed by `padding` elements that are not part of the list
  std::int64_t size() const { return static_cast<std::int64_t>(keys.size()) - padding; }
};

// `m` keys in every pattern. The padding is the best key, so a selection that uses it fails.
template <class Int>
std::vector<pattern<Int>> patterns(std::int64_t m, unsigned seed = 7) {
  std::mt19937_64 bits(seed);
  const auto any = [&](std::int64_t) { return static_cast<Int>(bits()); };
  const auto step = std::max<std::int64_t>(m / 64, 1);
  const std::vector<std::pair<std::string, std::function<Int(std::int64_t)>>> makers = {
      {"random", any},
      {"ascending", [](std::int64_t i) { return static_cast<Int>(3 * i - 50); }},
      {"descending", [](std::int64_t i) { return static_cast<Int>(-3 * i + 50); }},
      {"all equal", [](std::int64_t) { return Int{-4}; }},
      {"two keys", [&](std::int64_t) { return static_cast<Int>(bits() % 2); }},
      {"seven keys", [&](std::int64_t) { return static_cast<Int>(bits() % 7); }},
      {"best and worst key",
       [&](std::int64_t) { return bits() % 2 ? best_key<Int> : worst_key<Int>; }},
      {"worst key", [](std::int64_t) { return worst_key<Int>; }},
      {"best key", [](std::int64_t) { return best_key<Int>; }},
      // A sample of every step-th element is unlike the other elements, in both directions.
      {"sample too low", [=](std::int64_t i) { return i % step == step / 2 ? Int{-9} : any(i); }},
      {"sample too high",
       [=](std::int64_t i) { return i % step == step / 2 ? worst_key<Int> : any(i); }},
      {"far apart", [&](std::int64_t i) { return static_cast<Int>(Int{1} << (i % 30)); }},
  };
  std::vector<pattern<Int>> all;
  for (const auto& [name, make] : makers) {
    pattern<Int> p{name, {}};
    for (std::int64_t i = 0; i < m; ++i) p.keys.push_back(make(i));
    p.keys.insert(p.keys.end(), padding, best_key<Int>);
    all.push_back(std::move(p));
  }
  return all;
}

// The ascending indices of the k smallest of keys[0..m); of equal keys the first.
template <class Int>
std::vector<std::int64_t> best_indices(const std::vector<Int>& keys, std::int64_t m,
                                       std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

// A row of values with the given keys.
template <class Int>
std::vector<value_of<Int>> values_with(const std::vector<Int>& keys, std::int64_t m,
                                       direction wanted) {
  const key_row<value_of<Int>> reader(nullptr, 0, wanted);
  std::vector<value_of<Int>> values;
  for (std::int64_t i = 0; i < m; ++i) {
    values.push_back(reader.value(keys[static_cast<std::size_t>(i)]));
  }
  return values;
}

template <class Int>
std::vector<Int> scratch_for(std::int64_t keys) {
  return std::vector<Int>(static_cast<std::size_t>(keys));
}

}  // namespace kselect::one_pass
