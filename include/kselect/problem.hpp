#pragma once
// A selection problem: the parameters that define what to compute. The data of the rows is not part
// of it: no algorithm is told how its rows were made.
//
// A problem prints the same in tests, sweeps and results, for example
// `float32/smallest/Q=64/n=1048576/k=256/values_and_indices/row_major`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kselect/dtypes.hpp"
#include "kselect/names.hpp"
#include "kselect/order.hpp"

namespace kselect {

enum class index_type : std::uint8_t { int32, int64 };

// Position of element (row r, column c), in elements from the start of the input:
//   row_major     r * pitch + c, pitch >= n   (warp- and block-per-row algorithms)
//   column_major  c * pitch + r, pitch >= Q   (thread-per-query algorithms: lanes read neighbours)
enum class layout : std::uint8_t { row_major, column_major };

// The parts of the answer. Outputs are dense and row-major: values[Q][k] and indices[Q][k], or
// values[Q] for kth_value.
enum class payload : std::uint8_t { values, values_and_indices, kth_value, indices };

// An array with one number a row, in the memory where the rows are: its type, or none.
enum class row_numbers : std::uint8_t { none, int32, int64 };

// Which elements may be selected: all, those whose column a bit admits, or those that a bit of
// their own admits.
enum class mask_bits : std::uint8_t { none, columns, elements };

constexpr auto names_of(direction) {
  return std::to_array<named<direction>>(
      {{direction::smallest, "smallest"}, {direction::largest, "largest"}});
}
constexpr auto names_of(nan_order) {
  return std::to_array<named<nan_order>>({{nan_order::total_order, "total_order"},
                                          {nan_order::last, "last"},
                                          {nan_order::first, "first"}});
}
constexpr auto names_of(index_type) {
  return std::to_array<named<index_type>>(
      {{index_type::int32, "int32"}, {index_type::int64, "int64"}});
}
constexpr auto names_of(layout) {
  return std::to_array<named<layout>>(
      {{layout::row_major, "row_major"}, {layout::column_major, "column_major"}});
}
constexpr auto names_of(payload) {
  return std::to_array<named<payload>>({{payload::values, "values"},
                                        {payload::values_and_indices, "values_and_indices"},
                                        {payload::kth_value, "kth_value"},
                                        {payload::indices, "indices"}});
}
constexpr auto names_of(row_numbers) {
  return std::to_array<named<row_numbers>>(
      {{row_numbers::none, "none"}, {row_numbers::int32, "int32"}, {row_numbers::int64, "int64"}});
}

constexpr auto names_of(mask_bits) {
  return std::to_array<named<mask_bits>>({{mask_bits::none, "none"},
                                          {mask_bits::columns, "columns"},
                                          {mask_bits::elements, "elements"}});
}

constexpr std::size_t size_of(index_type type) { return type == index_type::int32 ? 4 : 8; }
constexpr std::size_t size_of(row_numbers type) {
  return type == row_numbers::none ? 0 : type == row_numbers::int32 ? 4 : 8;
}

// Rows are *ragged* if `lengths`, `starts` or both say where each lies. Row r then begins starts[r]
// elements (0 without starts) after its place in the matrix and has lengths[r] elements; without
// lengths it ends where the matrix' row ends. `segments`: row r is the elements starts[r] to
// starts[r + 1] of the input, wherever they are. n is the most that a row has: of a longer one the
// first n count, and a negative length is 0. An index of the answer counts from the row's start. A
// row of fewer than k elements gives all of them first. The rest of its outputs have the index
// `fill` and the value +inf, or -inf if the largest are wanted; of types without infinity the
// greatest or least number.
//
// With `k_each` row r gives the k_each[r] best, at most k and at least 0, and the rest of its k
// outputs is filled in the same way; rows are then ragged, too. With `map` an answer names element
// j of a row by map[starts[r] + j] instead of by j, as lists of ids do; with `map_of_input`, by
// map[the element's number in the input], as page tables do. For segments both are the same.
//
// With `mask` only elements whose bit is set are selected; rows are then ragged, too, and an index
// of the answer still counts from the row's start. Bits are words of 32, the lowest bit first. Bit
// starts[r] + j (j without starts) admits element j of row r: of bits that all rows share
// (`columns`), or of row r's own, which begin at word r * mask_pitch (`elements`). Segments have
// bits for the elements of the input (`columns`).
struct problem {
  std::int64_t n = 0;  // row length (corpus size)
  std::int64_t q = 0;  // Q, the number of rows (queries)
  std::int64_t k = 0;  // number of elements to select from each row, 1 <= k; ragged or k <= n
  dtype type = dtype::float32;
  index_type index = index_type::int32;
  kselect::direction direction = kselect::direction::smallest;
  kselect::payload payload = kselect::payload::values_and_indices;
  kselect::layout layout = kselect::layout::row_major;
  row_numbers lengths = row_numbers::none;  // of io::lengths, [Q]
  row_numbers starts = row_numbers::none;   // of io::starts, [Q], or [Q + 1] for segments
  row_numbers k_each = row_numbers::none;   // of io::k_each, [Q]
  row_numbers map = row_numbers::none;      // of io::map; its type fits the index type
  mask_bits mask = mask_bits::none;         // of io::mask
  bool segments = false;
  bool map_of_input = false;
  nan_order nan = nan_order::total_order;
  bool fill_last = false;       // what fills has the worst key and index -1, for steps that follow
  std::int64_t pitch = 0;       // elements between neighbouring rows (columns); 0 means dense
  std::int64_t elements = 0;    // of the input; 0: those of the matrix. Segments need it
  std::int64_t fill = -1;       // ragged: the index of outputs that the row has no element for
  std::int64_t mask_pitch = 0;  // words of the mask from one row to the next, if it has elements

  bool operator==(const problem&) const = default;

  // The pitch in use: 0 means the dense pitch.
  constexpr std::int64_t effective_pitch() const {
    if (pitch != 0) return pitch;
    return layout == layout::row_major ? n : q;
  }
  // Position of (row, column), in elements.
  constexpr std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return layout == layout::row_major ? row * effective_pitch() + column
                                       : column * effective_pitch() + row;
  }
  // Elements from the first to the end of the last row, gaps between rows included.
  constexpr std::int64_t input_elements() const {
    if (elements != 0 || segments) return elements;
    return n == 0 || q == 0 ? 0 : offset(q - 1, n - 1) + 1;
  }
  constexpr std::size_t input_bytes() const {
    return static_cast<std::size_t>(input_elements()) * size_of(type);
  }
  constexpr bool ragged() const {
    return lengths != row_numbers::none || starts != row_numbers::none ||
           k_each != row_numbers::none || mask != mask_bits::none;
  }
  constexpr bool has_indices() const {
    return payload == payload::values_and_indices || payload == payload::indices;
  }
  constexpr bool has_values() const { return payload != payload::indices; }
  constexpr std::int64_t outputs_per_row() const { return payload == payload::kth_value ? 1 : k; }
  constexpr std::size_t values_bytes() const {
    return has_values() ? static_cast<std::size_t>(q * outputs_per_row()) * size_of(type) : 0;
  }
  constexpr std::size_t indices_bytes() const {
    return has_indices() ? static_cast<std::size_t>(q * k) * size_of(index) : 0;
  }
  constexpr std::size_t lengths_bytes() const {
    return static_cast<std::size_t>(q) * size_of(lengths);
  }
  constexpr std::size_t starts_bytes() const {
    return static_cast<std::size_t>(q + (segments ? 1 : 0)) * size_of(starts);
  }
  constexpr std::size_t k_each_bytes() const {
    return static_cast<std::size_t>(q) * size_of(k_each);
  }
};

// The problem whose answers have positions, which a map has not named.
constexpr problem without_map(problem p) {
  p.map = row_numbers::none;
  p.map_of_input = false;
  return p;
}

// The problem whose NaNs are ordered by their bits.
constexpr problem in_total_order(problem p) {
  p.nan = nan_order::total_order;
  return p;
}

inline std::string to_string(const problem& p) {
  std::string text;
  text += to_string(p.type);
  text += '/';
  text += to_string(p.direction);
  text += "/Q=" + std::to_string(p.q);
  text += "/n=" + std::to_string(p.n);
  text += "/k=" + std::to_string(p.k);
  text += '/';
  text += to_string(p.payload);
  if (p.has_indices() && p.index != index_type::int32) {
    text += ':';
    text += to_string(p.index);
  }
  text += '/';
  text += to_string(p.layout);
  if (p.pitch != 0) text += ":pitch=" + std::to_string(p.pitch);
  const auto numbers = [&](const char* name, row_numbers type) {
    if (type == row_numbers::none) return;
    text += name;
    text += to_string(type);
  };
  numbers("/lengths:", p.lengths);
  numbers(p.segments ? "/segments:" : "/starts:", p.starts);
  numbers("/k_each:", p.k_each);
  numbers(p.map_of_input ? "/map_of_input:" : "/map:", p.map);
  if (p.mask != mask_bits::none) {
    text += "/mask:";
    text += to_string(p.mask);
    if (p.mask_pitch != 0) text += ":pitch=" + std::to_string(p.mask_pitch);
  }
  if (p.nan != nan_order::total_order) {
    text += "/nan:";
    text += to_string(p.nan);
  }
  if (p.ragged() && p.fill != -1) text += "/fill=" + std::to_string(p.fill);
  return text;
}

template <class F>
decltype(auto) visit(index_type type, F&& f) {
  switch (type) {
    case index_type::int64:
      return std::forward<F>(f)(std::int64_t{});
    case index_type::int32:
      break;
  }
  return std::forward<F>(f)(std::int32_t{});
}

}  // namespace kselect
