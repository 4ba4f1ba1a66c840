#pragma once
// The certificate's pass over every element: counts, in a stretch of a row, the keys better than
// the worst returned key and those that tie with it.
//
// Keys are compared as signed integers, because SSE2 has no unsigned comparison. Loops run over
// blocks of constant length without an early exit, so that compilers vectorise them even at -O2.

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kselect/order.hpp"

namespace kselect::harness::verification {

template <class T>
using signed_key_t = std::make_signed_t<order_key_t<T>>;

// The order of words (order.hpp) as signed masks.
template <class T>
struct signed_order {
  signed_key_t<T> below_zero = 0, always = 0;

  static constexpr signed_order of(dtype type, direction wanted) {
    const order_t<T> by = order_in<T>(type, wanted);
    return {static_cast<signed_key_t<T>>(by.below_zero),
            static_cast<signed_key_t<T>>(by.always ^ sign_bit<T>)};
  }
};

// selection_key shifted to the signed range: same order, smaller is better.
template <class T>
constexpr signed_key_t<T> signed_key(T value, signed_order<T> by) {
  const auto bits = std::bit_cast<signed_key_t<T>>(value);
  const auto sign = static_cast<signed_key_t<T>>(bits >> (8 * sizeof(T) - 1));
  return static_cast<signed_key_t<T>>(bits ^ (sign & by.below_zero) ^ by.always);
}

// The two zeros are neighbours in the total order. In both directions the better one has the signed
// key -1 and the worse one 0, so merging zeros means treating these two keys as one.
template <class T>
inline constexpr signed_key_t<T> better_zero = -1;
template <class T>
inline constexpr signed_key_t<T> worse_zero = 0;

namespace detail {
template <class Bits>
constexpr auto key_of_zero(Bits zero, dtype type, direction wanted) {
  using T = word<Bits>;
  return signed_key(T{zero}, signed_order<T>::of(type, wanted));
}
constexpr std::uint32_t minus_zero = 0x80000000U;
static_assert(key_of_zero(minus_zero, dtype::float32, direction::smallest) == -1);
static_assert(key_of_zero(std::uint32_t{0}, dtype::float32, direction::smallest) == 0);
static_assert(key_of_zero(std::uint32_t{0}, dtype::float32, direction::largest) == -1);
static_assert(key_of_zero(minus_zero, dtype::float32, direction::largest) == 0);
}  // namespace detail

// The keys that tie with the worst one returned: one key, or both zeros if they are merged.
template <class T>
struct cut {
  signed_order<T> by = {};
  signed_key_t<T> best = 0;
  signed_key_t<T> worst = 0;

  constexpr bool better(T value) const { return signed_key(value, by) < best; }
  constexpr bool tied(T value) const {
    const signed_key_t<T> key = signed_key(value, by);
    return key == best || key == worst;
  }
};

struct counts {
  std::int64_t better = 0;
  std::int64_t at_best = 0;   // ties, by bit pattern. The two numbers are equal
  std::int64_t at_worst = 0;  // unless the tie is between the two zeros

  counts& operator+=(const counts& other) {
    better += other.better;
    at_best += other.at_best;
    at_worst += other.at_worst;
    return *this;
  }
};

inline constexpr std::size_t block_elements = 128;

namespace detail {

template <class T>
std::int64_t better_among(const T* first, std::size_t size, const cut<T>& at) {
  order_key_t<T> better = 0;
  for (std::size_t j = 0; j < size; ++j) {
    better = static_cast<order_key_t<T>>(better + (signed_key(first[j], at.by) < at.best));
  }
  return static_cast<std::int64_t>(better);
}

template <class T>
counts counts_among(const T* first, std::size_t size, const cut<T>& at) {
  order_key_t<T> better = 0;
  order_key_t<T> at_best = 0;
  order_key_t<T> at_worst = 0;
  for (std::size_t j = 0; j < size; ++j) {
    const signed_key_t<T> key = signed_key(first[j], at.by);
    better = static_cast<order_key_t<T>>(better + (key < at.best));
    at_best = static_cast<order_key_t<T>>(at_best + (key == at.best));
    at_worst = static_cast<order_key_t<T>>(at_worst + (key == at.worst));
  }
  return {static_cast<std::int64_t>(better), static_cast<std::int64_t>(at_best),
          static_cast<std::int64_t>(at_worst)};
}

}  // namespace detail

// Calls f(block, size) for each block in turn. `size` is a constant except for the last block.
template <class T, class F>
void for_each_block(std::span<const T> elements, F&& f) {
  std::size_t done = 0;
  for (; done + block_elements <= elements.size(); done += block_elements) {
    f(elements.data() + done, std::integral_constant<std::size_t, block_elements>{});
  }
  if (done < elements.size()) f(elements.data() + done, elements.size() - done);
}

template <class T>
std::int64_t count_better(std::span<const T> elements, const cut<T>& at) {
  std::int64_t better = 0;
  for_each_block(elements, [&](const T* block, std::size_t size) {
    better += detail::better_among(block, size, at);
  });
  return better;
}

template <class T>
counts count_all(std::span<const T> elements, const cut<T>& at) {
  counts total;
  for_each_block(elements, [&](const T* block, std::size_t size) {
    total += detail::counts_among(block, size, at);
  });
  return total;
}

// Counts like count_all. Also calls take(const T* elements, std::int64_t count) with the better
// elements of each block, in row order. Cheap if better elements are rare.
template <class T, class F>
counts collect_better(std::span<const T> elements, const cut<T>& at, F&& take) {
  counts total;
  for_each_block(elements, [&](const T* block, std::size_t size) {
    const counts here = detail::counts_among(block, size, at);
    total += here;
    if (here.better == 0) return;
    std::array<T, block_elements + 1> hits;
    std::size_t found = 0;
    for (std::size_t j = 0; j < size; ++j) {
      hits[found] = block[j];
      found += at.better(block[j]);
    }
    take(hits.data(), here.better);
  });
  return total;
}

}  // namespace kselect::harness::verification
