#pragma once
// Problems with known right answers, for the tests of the verifier.
//
// All rows have the same keys in different columns. In order of preference: six distinct keys (a
// NaN with a payload, an infinity, two numbers, the two zeros), five ties, of which k = 8 admits
// two, and worse keys. The right answer follows from that list without a selection.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "harness/verify/certificate.hpp"
#include "judges.hpp"
#include "kselect/select.hpp"

namespace kselect::harness::testing_answers {

inline constexpr std::int64_t rows = 5;
inline constexpr std::int64_t row_length = 40;
inline constexpr std::int64_t chosen = 8;
inline constexpr std::int64_t distinct_better = 6;
inline constexpr std::int64_t ties = 5;

template <class T, class Index>
struct answered {
  problem what;
  contract promises;
  std::vector<T> input;
  std::vector<T> values;
  std::vector<Index> indices;

  T& element(std::int64_t row, std::int64_t column) {
    return input[static_cast<std::size_t>(what.offset(row, column))];
  }
  T& value(std::int64_t row, std::int64_t j) {
    return values[static_cast<std::size_t>(row * what.outputs_per_row() + j)];
  }
  Index& index(std::int64_t row, std::int64_t j) {
    return indices[static_cast<std::size_t>(row * what.k + j)];
  }
  // Sets output j of the row to the element of that column.
  void choose(std::int64_t row, std::int64_t j, std::int64_t column) {
    value(row, j) = element(row, column);
    if (what.has_indices()) index(row, j) = static_cast<Index>(column);
  }
  io buffers() const {
    return {input.data(), const_cast<T*>(values.data()),
            what.has_indices() ? const_cast<Index*>(indices.data()) : nullptr};
  }
  verdict check(int threads = 1) const { return verify(what, promises, buffers(), threads); }
  judgement judged(const judge& by) const { return by(what, promises, buffers()); }
};

template <class T>
T negated(T value) {
  return std::bit_cast<T>(static_cast<order_key_t<T>>(bits_of(value) ^ sign_bit<T>));
}

// The keys of a row, best first.
template <class T>
std::vector<T> preferred(direction wanted) {
  const auto special = [](auto bits) {
    return std::bit_cast<T>(static_cast<order_key_t<T>>(sign_bit<T> | bits));
  };
  constexpr order_key_t<T> infinity = infinity_bits<T>, payload = sizeof(T) == 2 ? 0x12 : 0x1234;
  std::vector<T> keys = {special(infinity | infinity >> 1 | payload), special(infinity)};
  for (const float x : {-2.0F, -1.0F, -0.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F}) {
    keys.push_back(from_float<T>(x));
  }
  while (keys.size() < static_cast<std::size_t>(row_length)) {
    keys.push_back(from_float<T>(static_cast<float>(keys.size())));
  }
  if (wanted == direction::largest)
    std::transform(keys.begin(), keys.end(), keys.begin(), negated<T>);
  return keys;
}

// The column of the key with that preference. 17 has no common factor with the row's length, so the
// columns are a permutation; the ties' columns are sorted.
inline std::int64_t column_of(std::int64_t row, std::int64_t preference) {
  const auto scattered = [row](std::int64_t j) { return (17 * j + 3 * row) % row_length; };
  if (preference < distinct_better || preference >= distinct_better + ties) {
    return scattered(preference);
  }
  std::vector<std::int64_t> columns;
  for (std::int64_t j = 0; j < ties; ++j) columns.push_back(scattered(distinct_better + j));
  std::sort(columns.begin(), columns.end());
  return columns[static_cast<std::size_t>(preference - distinct_better)];
}

// The problem with the answer of the strictest contract: sorted, ties by ascending index.
template <class T, class Index>
answered<T, Index> right_answer(direction wanted, layout lies, std::int64_t pitch,
                                payload asked = payload::values_and_indices) {
  answered<T, Index> made;
  made.what.n = row_length;
  made.what.q = rows;
  made.what.k = chosen;
  made.what.type = *dtype_of<T>;
  made.what.index = sizeof(Index) == 4 ? index_type::int32 : index_type::int64;
  made.what.direction = wanted;
  made.what.payload = asked;
  made.what.layout = lies;
  made.what.pitch = pitch;
  // The gaps between rows hold a value better than every key, so reading them is noticed.
  const std::vector<T> keys = preferred<T>(wanted);
  made.input.assign(static_cast<std::size_t>(made.what.input_elements()),
                    from_selection_key<T>(0, wanted));
  made.values.resize(static_cast<std::size_t>(rows * made.what.outputs_per_row()));
  if (made.what.has_indices()) made.indices.resize(static_cast<std::size_t>(rows * chosen));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < row_length; ++j) {
      made.element(row, column_of(row, j)) = keys[static_cast<std::size_t>(j)];
    }
    if (asked == payload::kth_value) {
      made.choose(row, 0, column_of(row, chosen - 1));
      continue;
    }
    for (std::int64_t j = 0; j < chosen; ++j) made.choose(row, j, column_of(row, j));
  }
  return made;
}

}  // namespace kselect::harness::testing_answers
