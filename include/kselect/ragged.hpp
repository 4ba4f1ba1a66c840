#pragma once
// Rows of lengths and starts of their own, as a call's buffers give them: where row r lies, and
// what stands in the outputs that it has no element for. problem.hpp says what the arrays mean.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kselect/call.hpp"
#include "kselect/hd.hpp"
#include "kselect/order.hpp"
#include "kselect/problem.hpp"

namespace kselect {

// Number `at` of an array. The type is not none.
inline std::int64_t row_number(row_numbers type, const void* numbers, std::int64_t at) {
  if (type == row_numbers::int32) return static_cast<const std::int32_t*>(numbers)[at];
  return static_cast<const std::int64_t*>(numbers)[at];
}

// The elements of a row: `length` of them. The first is number `first` of the input.
struct row_extent {
  std::int64_t first, length;
};

// Of host memory. Rows that are not ragged have their place in the matrix.
inline row_extent extent_of(const problem& p, const io& buffers, std::int64_t row) {
  const bool starts = p.starts != row_numbers::none;
  const std::int64_t start = starts ? row_number(p.starts, buffers.starts, row) : 0;
  std::int64_t length = p.n;
  if (p.segments) {
    length = row_number(p.starts, buffers.starts, row + 1) - start;
  } else if (p.lengths != row_numbers::none) {
    length = row_number(p.lengths, buffers.lengths, row);
  } else {
    length = p.n - start;
  }
  const std::int64_t place = p.segments ? 0 : p.offset(row, 0);
  return {place + start, std::clamp<std::int64_t>(length, 0, p.n)};
}

// The elements that are selected from a row of `length`, in host memory.
inline std::int64_t selected_of(const problem& p, const io& buffers, std::int64_t row,
                                std::int64_t length) {
  const std::int64_t k =
      p.k_each == row_numbers::none
          ? p.k
          : std::clamp<std::int64_t>(row_number(p.k_each, buffers.k_each, row), 0, p.k);
  return std::min(k, length);
}

// The bits of a mask that belong to a row of `length` elements, in host memory: bit `first` of
// `words` is that of its first element.
struct mask_range {
  const std::uint32_t* words;
  std::int64_t first;
  bool admits(std::int64_t j) const {
    const std::int64_t bit = first + j;
    return (words[bit / 32] >> (bit % 32) & 1U) != 0;
  }
};
inline mask_range mask_of(const problem& p, const io& buffers, std::int64_t row) {
  const std::int64_t place = p.segments ? 0 : p.offset(row, 0);
  return {static_cast<const std::uint32_t*>(buffers.mask) + row * p.mask_pitch,
          extent_of(p, buffers, row).first - place};
}

// The number of the map that names a row's first element, in host memory.
inline std::int64_t first_name_of(const problem& p, const io& buffers, std::int64_t row) {
  const std::int64_t place = p.segments || p.map_of_input ? 0 : p.offset(row, 0);
  return extent_of(p, buffers, row).first - place;
}

// The array from element `first` on, of elements of that size; null if the array is.
template <class Void>
Void* array_from(Void* array, std::int64_t first, std::size_t size) {
  using byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return array == nullptr ? nullptr
                          : static_cast<byte*>(array) + static_cast<std::size_t>(first) * size;
}

// Names the first `count` indices of a row's answer by the map, in host memory.
inline void map_row(const problem& p, const io& buffers, std::int64_t row, std::int64_t count) {
  const std::int64_t first = first_name_of(p, buffers, row);
  visit(p.index, [&]<class Index>(Index) {
    Index* const indices = static_cast<Index*>(buffers.indices) + row * p.k;
    for (std::int64_t j = 0; j < count; ++j) {
      indices[j] = static_cast<Index>(row_number(p.map, buffers.map, first + indices[j]));
    }
  });
}

// The bits of the value that stands for no element: the infinity that is worse than all numbers, or
// the worst number if the type has no infinity.
template <class T>
KSELECT_HD constexpr order_key_t<T> fill_bits(direction wanted) {
  if constexpr (dtype_traits<T>::kind == number_kind::floating) {
    const auto sign = wanted == direction::largest ? sign_bit<T> : order_key_t<T>{0};
    return static_cast<order_key_t<T>>(infinity_bits<T> | sign);
  } else {
    return bits_of(from_selection_key<T>(static_cast<order_key_t<T>>(~order_key_t<T>{0}), wanted));
  }
}
inline std::uint64_t fill_bits(dtype type, direction wanted) {
  return visit_number(type, [&]<class T>(T) { return std::uint64_t{fill_bits<T>(wanted)}; });
}

// Writes what stands for no element to outputs `from` to k of a row, in host memory.
inline void fill_row(const problem& p, const io& buffers, std::int64_t row, std::int64_t from) {
  if (from >= p.k) return;
  if (p.has_values()) {
    visit_number(p.type, [&]<class T>(T) {
      T* const values = static_cast<T*>(buffers.values) + row * p.k;
      std::fill(values + from, values + p.k, std::bit_cast<T>(fill_bits<T>(p.direction)));
    });
  }
  if (p.has_indices()) {
    visit(p.index, [&]<class Index>(Index) {
      Index* const indices = static_cast<Index*>(buffers.indices) + row * p.k;
      std::fill(indices + from, indices + p.k, static_cast<Index>(p.fill));
    });
  }
}

}  // namespace kselect
