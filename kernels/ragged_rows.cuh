#pragma once
// Rows of lengths and starts of their own (kselect/ragged.hpp) as kernels see them. A kernel reads
// the two numbers of a row when it comes to the row, so the host need not know them.

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

template <class T>
struct ragged_view {
  simt::global<const T> input;
  numbers_view lengths, starts;
  std::int64_t rows, pitch;  // row r begins at element r * pitch + starts[r]; segments: pitch 0
  bool has_lengths, has_starts, segments;
  position n, k;  // the most elements that a row has; those wanted
  direction wanted;
  std::int64_t fill;          // the index of outputs without an element,
  order_key_t<T> fill_value;  // and their value's bits
};

inline numbers_view numbers_of(row_numbers type, const void* numbers, std::int64_t count) {
  numbers_view all;
  if (type == row_numbers::int32) all.of_32 = {static_cast<const std::int32_t*>(numbers), count};
  if (type == row_numbers::int64) all.of_64 = {static_cast<const std::int64_t*>(numbers), count};
  return all;
}

template <class T>
ragged_view<T> ragged_rows_of(const problem& p, const io& buffers) {
  ragged_view<T> m;
  m.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  m.lengths = numbers_of(p.lengths, buffers.lengths, p.q);
  m.starts = numbers_of(p.starts, buffers.starts, p.q + (p.segments ? 1 : 0));
  m.rows = p.q;
  m.pitch = p.segments ? 0 : p.effective_pitch();
  m.has_lengths = p.lengths != row_numbers::none;
  m.has_starts = p.starts != row_numbers::none;
  m.segments = p.segments;
  m.n = static_cast<position>(p.n);
  m.k = static_cast<position>(p.k);
  m.wanted = p.direction;
  m.fill = p.fill;
  // Not of T: both 16-bit types are read as one.
  m.fill_value = static_cast<order_key_t<T>>(fill_bits(p.type, p.direction));
  return m;
}

// Row number `row`, which may be empty.
template <class Simt, class T>
KSELECT_HD simt::global<const T> row_at(Simt& simt, const ragged_view<T>& m, std::int64_t row) {
  const std::int64_t start = m.has_starts ? number_at(simt, m.starts, row) : 0;
  std::int64_t length = m.n - start;
  if (m.segments) {
    length = number_at(simt, m.starts, row + 1) - start;
  } else if (m.has_lengths) {
    length = number_at(simt, m.lengths, row);
  }
  if (length > m.n) length = m.n;
  if (length <= 0) return {};
  return simt.slice(m.input, row * m.pitch + start, length);
}

// Writes all elements of a row that has at most k, and fills the rest of its outputs. Outputs that
// are not wanted are empty. The caller is number `index` of `stride` threads.
template <class Simt, class T>
KSELECT_HD void write_whole_row(Simt& simt, const ragged_view<T>& m, const answer_view<T>& out,
                                std::int64_t row, simt::global<const T> elements, position index,
                                position stride) {
  const auto length = static_cast<position>(elements.size);
  const std::int64_t first = row * m.k;
  for (position j = index; j < m.k; j += stride) {
    const bool there = j < length;
    if (out.values.size != 0) {
      simt.store(out.values, first + j,
                 there ? simt.load(elements, j) : std::bit_cast<T>(m.fill_value));
    }
    if (out.indices_32.size != 0) {
      simt.store(out.indices_32, first + j, static_cast<std::int32_t>(there ? j : m.fill));
    }
    if (out.indices_64.size != 0) simt.store(out.indices_64, first + j, there ? j : m.fill);
  }
}

}  // namespace kselect::kernels
