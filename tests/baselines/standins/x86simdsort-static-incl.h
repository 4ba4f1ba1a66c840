#pragma once
// What baselines/x86_simd_sort.cpp uses of x86-simd-sort (7.0), as its header declares it, by the
// standard library. Ties come out in any order there; here the last come first.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace x86simdsortStatic {

template <class T>
void qselect(T* keys, std::size_t k, std::size_t size, bool hasnan = false,
             bool descending = false) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 4);
  if (hasnan || descending) std::abort();  // nothing that the adapter asks for
  std::nth_element(keys, keys + k, keys + size);
}

template <class Key, class Value>
void keyvalue_select(Key* keys, Value* values, std::size_t k, std::size_t size, bool hasnan = false,
                     bool descending = false) {
  static_assert(sizeof(Key) == sizeof(Value) && sizeof(Key) >= 4);
  if (hasnan || descending) std::abort();
  std::vector<std::pair<Key, Value>> pairs(size);
  for (std::size_t i = 0; i < size; ++i) pairs[i] = {keys[i], values[i]};
  const auto before = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::nth_element(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(k), pairs.end(),
                   before);
  for (std::size_t i = 0; i < size; ++i) std::tie(keys[i], values[i]) = pairs[i];
}

}  // namespace x86simdsortStatic
