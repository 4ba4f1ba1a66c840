#pragma once
// What the GPU baselines share: the matrix and the answer as kernels see them, elements that a
// network may exchange, and a coalesced walk over a row with 16-byte loads.
//
// Kernels work on selection keys (order.hpp) and write values back from keys; a position in a row
// is 32 bits, so every baseline built on this header takes rows of fewer than 2^31 elements.

#include <cstdint>
#include <span>

#include "kernels/position.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/order.hpp"
#include "kselect/simt/carver.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::kernels {

// The parts of an answer. A template parameter, so that kernels carry no unwanted positions.
enum class answer : std::uint8_t { kth, values, pairs };

constexpr answer answer_of(const problem& p) {
  if (p.payload == payload::kth_value) return answer::kth;
  return p.has_indices() ? answer::pairs : answer::values;
}

// ---- the matrix and the answer

template <class T>
struct rows_view {
  simt::global<const T> input;
  std::int64_t rows, pitch;  // row-major: row r begins at element r * pitch
  position n, k;
  order_t<T> wanted;
};

template <class T>
struct answer_view {
  simt::global<T> values;
  simt::global<std::int32_t> indices_32;  // one of the two, or neither
  simt::global<std::int64_t> indices_64;
};

template <class T>
rows_view<T> rows_of(const problem& p, const io& buffers) {
  return {{static_cast<const T*>(buffers.input), p.input_elements()},
          p.q,
          p.effective_pitch(),
          static_cast<position>(p.n),
          static_cast<position>(p.k),
          order_in<T>(p.type, p.direction)};
}

template <class T>
answer_view<T> answer_in(const problem& p, const io& buffers) {
  answer_view<T> out;
  if (p.has_values()) {
    out.values = {static_cast<T*>(buffers.values), p.q * p.outputs_per_row()};
  }
  if (!p.has_indices()) return out;
  if (p.index == index_type::int32) {
    out.indices_32 = {static_cast<std::int32_t*>(buffers.indices), p.q * p.k};
  } else {
    out.indices_64 = {static_cast<std::int64_t*>(buffers.indices), p.q * p.k};
  }
  return out;
}

// The same for one row alone, for algorithms that take one row at a time.
template <class T>
rows_view<T> one_row_of(const problem& p, const io& buffers, std::int64_t row) {
  rows_view<T> m = rows_of<T>(p, buffers);
  m.input = {m.input.data + p.offset(row, 0), p.n};
  m.rows = 1;
  return m;
}

template <class T>
answer_view<T> one_answer_in(const problem& p, const io& buffers, std::int64_t row) {
  answer_view<T> out = answer_in<T>(p, buffers);
  const auto part = [&](auto& whole) {
    if (whole.size != 0) {
      whole = {whole.data + row * p.outputs_per_row(), p.outputs_per_row()};
    }
  };
  part(out.values);
  part(out.indices_32);
  part(out.indices_64);
  return out;
}

template <class Simt, class T>
KSELECT_HD simt::global<const T> row_at(Simt& simt, const rows_view<T>& m, std::int64_t row) {
  return simt.slice(m.input, row * m.pitch, m.n);
}

// Writes an index to the answer's indices, which have 32 or 64 bits.
template <class Simt, class View, class Place>
KSELECT_HD void store_index(Simt& simt, const View& out, Place place, std::int64_t at) {
  if (out.indices_32.size != 0) {
    simt.store(out.indices_32, place, static_cast<std::int32_t>(at));
  } else {
    simt.store(out.indices_64, place, at);
  }
}

// Writes one element of the answer; `place` counts through all rows: row * k + j.
template <answer what, class Simt, class T>
KSELECT_HD void write_answer(Simt& simt, const answer_view<T>& out, std::int64_t place,
                             order_key_t<T> key, position at, order_t<T> wanted) {
  simt.store(out.values, place, from_selection_key<T>(key, wanted));
  if constexpr (what == answer::pairs) store_index(simt, out, place, at);
}

// ---- a walk over a row

// Calls f(value, position) for the caller's share of a row's elements; the caller is number `index`
// of `stride` threads. Reads an unaligned head, then 16-byte loads, four in flight, then the rest.
// Threads may call f different numbers of times, so f must not use collectives.
template <class Simt, class T, class F>
KSELECT_HD void for_each_element(Simt& simt, simt::global<const T> row, position index,
                                 position stride, const F& f) {
  constexpr position width = 16 / sizeof(T);
  constexpr int in_flight = 4;
  const auto misaligned = static_cast<position>(reinterpret_cast<std::uintptr_t>(row.data) % 16);
  const auto n = static_cast<position>(row.size);
  position head = misaligned == 0 ? 0 : (16 - misaligned) / static_cast<position>(sizeof(T));
  if (head > n) head = n;
  for (position i = index; i < head; i += stride) f(simt.load(row, i), i);
  const auto body = as_vec<static_cast<int>(width)>(simt.slice(row, head, n - head));
  const position vectors = (n - head) / width;
  position i = index;
  for (; i + (in_flight - 1) * stride < vectors; i += in_flight * stride) {
    simt::vec<T, static_cast<int>(width)> loaded[in_flight];
    for (int v = 0; v < in_flight; ++v) {
      loaded[v] = simt.load(body, i + static_cast<position>(v) * stride);
    }
    for (int v = 0; v < in_flight; ++v) {
      const position first = head + (i + static_cast<position>(v) * stride) * width;
      for (position j = 0; j < width; ++j) f(loaded[v][static_cast<int>(j)], first + j);
    }
  }
  for (; i < vectors; i += stride) {
    const auto loaded = simt.load(body, i);
    for (position j = 0; j < width; ++j) {
      f(loaded[static_cast<int>(j)], head + i * width + j);
    }
  }
  for (position t = head + vectors * width + index; t < n; t += stride) f(simt.load(row, t), t);
}

// ---- registry entries

// An entry with the declarations that all entries built on this header share.
constexpr algorithm gpu_entry(std::string_view name, std::string_view family,
                              std::string_view source) {
  algorithm a;
  a.name = name;
  a.family = family;
  a.source = source;
  a.promises.limits.max_n = longest_row;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  a.dtypes = set_of(dtype::float32, dtype::float64);
  return a;
}

// Calls f.template operator()<T, what>() for the problem's type and payload.
template <class F>
decltype(auto) visit_answer(const problem& p, F&& f) {
  return visit(p.type, [&]<class T>(T) {
    switch (answer_of(p)) {
      case answer::kth:
        return f.template operator()<T, answer::kth>();
      case answer::values:
        return f.template operator()<T, answer::values>();
      default:
        return f.template operator()<T, answer::pairs>();
    }
  });
}

// The same for algorithms that always give k elements a row.
template <class F>
decltype(auto) visit_list_answer(const problem& p, F&& f) {
  return visit(p.type, [&]<class T>(T) {
    return p.has_indices() ? f.template operator()<T, answer::pairs>()
                           : f.template operator()<T, answer::values>();
  });
}

}  // namespace kselect::kernels
