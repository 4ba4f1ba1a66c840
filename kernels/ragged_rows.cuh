#pragma once
// Rows of lengths and starts of their own (kselect/ragged.hpp) as kernels see them. A kernel reads
// the numbers of a row when it comes to the row, so the host need not know them.

#include <bit>
#include <cstdint>

#include "kernels/gpu_rows.cuh"
#include "kselect/ragged.hpp"

namespace kselect::kernels {

// An array with a number a row, of one of two types; or none.
struct numbers_view {
  simt::global<const std::int32_t> of_32;
  simt::global<const std::int64_t> of_64;
};

template <class Simt>
KSELECT_HD std::int64_t number_at(Simt& simt, const numbers_view& all, std::int64_t at) {
  if (all.of_32.size != 0) return simt.load(all.of_32, at);
  return simt.load(all.of_64, at);
}

// Where rows lie, and how many elements of each are wanted.
struct row_places {
  numbers_view lengths, starts, k_each;
  std::int64_t rows, pitch;  // row r begins at element r * pitch + starts[r]; segments: pitch 0
  bool has_lengths, has_starts, has_k_each, segments;
  position n, k;  // the most elements that a row has; the most wanted
};

template <class T>
struct ragged_view : row_places {
  simt::global<const T> input;
  order_t<T> wanted;
  std::int64_t fill;          // the index of outputs without an element,
  order_key_t<T> fill_value;  // and their value's bits
};

inline numbers_view numbers_of(row_numbers type, const void* numbers, std::int64_t count) {
  numbers_view all;
  if (type == row_numbers::int32) all.of_32 = {static_cast<const std::int32_t*>(numbers), count};
  if (type == row_numbers::int64) all.of_64 = {static_cast<const std::int64_t*>(numbers), count};
  return all;
}

inline row_places places_of(const problem& p, const io& buffers) {
  row_places m;
  m.lengths = numbers_of(p.lengths, buffers.lengths, p.q);
  m.starts = numbers_of(p.starts, buffers.starts, p.q + (p.segments ? 1 : 0));
  m.k_each = numbers_of(p.k_each, buffers.k_each, p.q);
  m.rows = p.q;
  m.pitch = p.segments ? 0 : p.effective_pitch();
  m.has_lengths = p.lengths != row_numbers::none;
  m.has_starts = p.starts != row_numbers::none;
  m.has_k_each = p.k_each != row_numbers::none;
  m.segments = p.segments;
  m.n = static_cast<position>(p.n);
  m.k = static_cast<position>(p.k);
  return m;
}

template <class T>
ragged_view<T> ragged_rows_of(const problem& p, const io& buffers) {
  ragged_view<T> m;
  static_cast<row_places&>(m) = places_of(p, buffers);
  m.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  m.wanted = order_in<T>(p.type, p.direction);
  m.fill = p.fill;
  // Not of T: both 16-bit types are read as one.
  m.fill_value = static_cast<order_key_t<T>>(fill_bits(p.type, p.direction));
  if (p.fill_last) {
    m.fill = -1;
    const auto worst = static_cast<order_key_t<T>>(~order_key_t<T>{0});
    m.fill_value = bits_of(from_selection_key<T>(worst, m.wanted));
  }
  return m;
}

// The number that a row's start has, and the row's length.
struct row_range {
  std::int64_t start;
  position length;
};
template <class Simt>
KSELECT_HD row_range range_of(Simt& simt, const row_places& m, std::int64_t row) {
  const std::int64_t start = m.has_starts ? number_at(simt, m.starts, row) : 0;
  std::int64_t length = m.n - start;
  if (m.segments) {
    length = number_at(simt, m.starts, row + 1) - start;
  } else if (m.has_lengths) {
    length = number_at(simt, m.lengths, row);
  }
  if (length > m.n) length = m.n;
  return {start, length <= 0 ? 0 : static_cast<position>(length)};
}

// The first element of row number `row`.
template <class Simt>
KSELECT_HD std::int64_t start_of(Simt& simt, const row_places& m, std::int64_t row) {
  return row * m.pitch + (m.has_starts ? number_at(simt, m.starts, row) : 0);
}

// Row number `row`, which may be empty.
template <class Simt, class T>
KSELECT_HD simt::global<const T> row_at(Simt& simt, const ragged_view<T>& m, std::int64_t row) {
  const row_range r = range_of(simt, m, row);
  if (r.length == 0) return {};
  return simt.slice(m.input, row * m.pitch + r.start, r.length);
}

// The elements wanted of a row, if it has as many.
template <class Simt>
KSELECT_HD position wanted_of(Simt& simt, const row_places& m, std::int64_t row) {
  if (!m.has_k_each) return m.k;
  const std::int64_t own = number_at(simt, m.k_each, row);
  return own <= 0 ? 0 : own < m.k ? static_cast<position>(own) : m.k;
}

// The outputs `first` to `first + count` of an answer. Outputs that are not wanted are empty.
template <class Simt, class T>
KSELECT_HD answer_view<T> outputs_at(Simt& simt, const answer_view<T>& all, std::int64_t first,
                                     position count) {
  answer_view<T> part;
  if (all.values.size != 0) part.values = simt.slice(all.values, first, count);
  if (all.indices_32.size != 0) part.indices_32 = simt.slice(all.indices_32, first, count);
  if (all.indices_64.size != 0) part.indices_64 = simt.slice(all.indices_64, first, count);
  return part;
}

// Writes an output of a row: `value` and `index`. Outputs that are not wanted are empty.
template <class Simt, class T>
KSELECT_HD void write_output(Simt& simt, const answer_view<T>& out, position at, T value,
                             std::int64_t index) {
  if (out.values.size != 0) simt.store(out.values, at, value);
  if (out.indices_32.size != 0) {
    simt.store(out.indices_32, at, static_cast<std::int32_t>(index));
  }
  if (out.indices_64.size != 0) simt.store(out.indices_64, at, index);
}

// Fills the outputs `from` to `end` of a row. The caller is number `index` of `stride` threads.
template <class Simt, class T>
KSELECT_HD void fill_outputs(Simt& simt, const ragged_view<T>& m, const answer_view<T>& out,
                             position from, position end, position index, position stride) {
  KSELECT_ROLLED  // most rows have nothing to fill
      for (position j = from + index; j < end; j += stride) {
    write_output(simt, out, j, std::bit_cast<T>(m.fill_value), m.fill);
  }
}

// Writes all elements of a row to its first outputs.
template <class Simt, class T>
KSELECT_HD void write_elements(Simt& simt, simt::global<const T> elements,
                               const answer_view<T>& out, position index, position stride) {
  const auto length = static_cast<position>(elements.size);
  for (position j = index; j < length; j += stride) {
    write_output(simt, out, j, simt.load(elements, j), j);
  }
}

}  // namespace kselect::kernels
