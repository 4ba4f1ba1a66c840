#pragma once
// Random problems with rows of lengths of their own, all options mixed.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kselect/float16.hpp"
#include "kselect/order.hpp"

namespace kselect {

// A random problem: rows anywhere in a buffer, as segments or with lengths, starts or both.
template <class T, class Number>
struct random_rows {
  explicit random_rows(std::mt19937& random, std::int64_t longest) : bits(random) {
    n = 1 + below(longest);
    q = 1 + below(6);
    k = 1 + below(2 * n);
    pitch = n + below(9);
    data.resize(static_cast<std::size_t>(q * pitch + 8));
    const std::int64_t values = below(2) == 0 ? 5 : 100'000;  // few: full of ties
    nans = below(3) == 0;
    for (T& x : data) x = element(values);
    const std::int64_t form = below(4);
    std::int64_t at = below(5);
    for (std::int64_t r = 0; r < q; ++r) {
      const std::int64_t length = below(4) == 0 ? std::min(k, n) : below(n + 1);
      lengths.push_back(static_cast<Number>(length));
      starts.push_back(static_cast<Number>(form == 2 ? below(n + 1) : below(8)));
      offsets.push_back(static_cast<Number>(at));
      at += std::min(length, static_cast<std::int64_t>(data.size()) - at);
    }
    offsets.push_back(static_cast<Number>(at));
    segments = form == 0;
    if (form == 1) starts.clear();
    if (form == 2) lengths.clear();
    fill = below(2) == 0 ? -1 : below(n);
    if (below(3) == 0) {
      for (std::int64_t r = 0; r < q; ++r) k_each.push_back(static_cast<Number>(below(k + 1)));
    }
    name_elements(below(4));
    mask_elements(below(6));
  }

  // Half of the problems have a mask: of segments, and of columns or of each row's own elements.
  // Few bits are set, half of them, or nearly all.
  void mask_elements(std::int64_t how) {
    if (how > 2) return;
    const std::int64_t words = (std::max(n, pitch) + 8 + 31) / 32;
    mask_pitch = how == 0 && !segments ? words : 0;
    const std::int64_t count = segments          ? static_cast<std::int64_t>(data.size()) / 32 + 1
                               : mask_pitch != 0 ? q * mask_pitch
                                                 : words;
    const std::int64_t density = below(4);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto one = static_cast<std::uint32_t>(bits()),
                 other = static_cast<std::uint32_t>(bits());
      mask.push_back(density == 0   ? 0
                     : density == 1 ? one & other
                     : density == 2 ? one
                                    : one | other);
    }
    if (below(3) == 0) mask.front() = ~std::uint32_t{0};
  }
  // The places in row r of the elements that may be selected.
  std::vector<std::int64_t> admitted(std::int64_t r) const {
    std::vector<std::int64_t> places;
    const auto at = static_cast<std::size_t>(r);
    const std::int64_t first = segments ? offsets[at] : starts.empty() ? 0 : starts[at];
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(row(r).size()); ++j) {
      const std::int64_t bit = first + j;
      const auto word = static_cast<std::size_t>(r * mask_pitch + bit / 32);
      if (mask.empty() || (mask[word] >> bit % 32 & 1U) != 0) places.push_back(j);
    }
    return places;
  }

  // Element i of what the map covers has the name 3 i + 1.
  void name_elements(std::int64_t how) {
    if (how > 1) return;
    named_of_input = how == 1;
    for (std::size_t i = 0; i < data.size() + 8; ++i) {
      names.push_back(static_cast<std::int32_t>(3 * i + 1));
    }
  }
  std::int64_t wanted(std::int64_t r) const {
    return k_each.empty() ? k : static_cast<std::int64_t>(k_each[static_cast<std::size_t>(r)]);
  }
  // The number of a row's first element in the map.
  std::int64_t first_name(std::int64_t r) const {
    const auto at = static_cast<std::size_t>(r);
    if (segments) return offsets[at];
    return (starts.empty() ? 0 : starts[at]) + (named_of_input ? r * pitch : 0);
  }

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end));
  }
  T element(std::int64_t values) {
    if (below(50) == 0) return std::bit_cast<T>(static_cast<order_key_t<T>>(bits()));  // NaN, too
    if (nans && below(4) == 0) {
      const auto some = static_cast<order_key_t<T>>(bits());
      return std::bit_cast<T>(static_cast<order_key_t<T>>(some | infinity_bits<T> | 1U));
    }
    const auto x = static_cast<float>(below(values) - values / 2);
    if constexpr (sizeof(T) == 2) {
      return from_float<T>(x);
    } else {
      return static_cast<T>(x);
    }
  }
  std::span<const T> row(std::int64_t r) const {
    const auto at = static_cast<std::size_t>(r);
    std::int64_t first = r * pitch, length = n;
    if (segments) {
      first = offsets[at];
      length = offsets[at + 1] - first;
    } else {
      const std::int64_t start = starts.empty() ? 0 : starts[at];
      first += start;
      length = lengths.empty() ? n - start : lengths[at];
    }
    return std::span(data).subspan(
        static_cast<std::size_t>(first),
        static_cast<std::size_t>(std::clamp<std::int64_t>(length, 0, n)));
  }

  std::mt19937& bits;
  std::int64_t n, q, k, pitch, fill;
  bool segments, nans;
  std::vector<T> data;
  std::vector<Number> lengths, starts, offsets, k_each;
  std::vector<std::int32_t> names;  // empty: elements have none
  bool named_of_input = false;
  std::vector<std::uint32_t> mask;  // empty: all elements may be selected
  std::int64_t mask_pitch = 0;
};

}  // namespace kselect
