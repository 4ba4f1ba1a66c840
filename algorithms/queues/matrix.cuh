#pragma once
// The rows and the answer in the kernels of the queue family. Column-major: element c of row r is
// at c * pitch + r, so that the lanes of a warp, a row each, have coalesced loads.

#include <cstdint>

#include "kernels/position.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/candidate.hpp"
#include "kselect/order.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::queues {

using kernels::position;

template <class T>
struct matrix_view {
  simt::global<const T> input;
  simt::global<T> values;                 // [Q][k]
  simt::global<std::int32_t> indices_32;  // one of the two, or neither
  simt::global<std::int64_t> indices_64;
  std::int64_t rows, pitch;
  position n;
  int k;
  direction wanted;
};

template <class T>
matrix_view<T> matrix_of(const problem& p, const io& buffers) {
  matrix_view<T> m{};
  m.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  m.values = {static_cast<T*>(buffers.values), p.q * p.k};
  if (p.has_indices() && p.index == index_type::int32) {
    m.indices_32 = {static_cast<std::int32_t*>(buffers.indices), p.q * p.k};
  } else if (p.has_indices()) {
    m.indices_64 = {static_cast<std::int64_t*>(buffers.indices), p.q * p.k};
  }
  m.rows = p.q;
  m.pitch = p.effective_pitch();
  m.n = static_cast<position>(p.n);
  m.k = static_cast<int>(p.k);
  m.wanted = p.direction;
  return m;
}

template <class Simt, class T>
KSELECT_HD order_key_t<T> key_at(Simt& simt, const matrix_view<T>& m, std::int64_t row,
                                 position at) {
  return selection_key(simt.load(m.input, at * m.pitch + row), m.wanted);
}

// The keys of several elements, which must exist. No branch separates the loads, so that their
// latencies overlap.
template <int count, class Simt, class T>
KSELECT_HD void load_keys(Simt& simt, const matrix_view<T>& m, std::int64_t row,
                          const position (&at)[count], order_key_t<T> (&keys)[count]) {
  T loaded[count];
  KSELECT_UNROLL
  for (int u = 0; u < count; ++u) loaded[u] = simt.load(m.input, at[u] * m.pitch + row);
  KSELECT_UNROLL
  for (int u = 0; u < count; ++u) keys[u] = selection_key(loaded[u], m.wanted);
}

// Writes a row's queue, best first as far as the queue is ordered.
template <class Candidate, class Simt, class T, class Slots>
KSELECT_HD void write_answer(Simt& simt, const matrix_view<T>& m, std::int64_t row,
                             const Slots& slots) {
  for (int j = 0; j < m.k; ++j) {
    const auto e = slots[m.k - 1 - j];
    const std::int64_t place = row * m.k + j;
    simt.store(m.values, place, from_selection_key<T>(Candidate::key(e), m.wanted));
    if (m.indices_32.size != 0) {
      simt.store(m.indices_32, place, static_cast<std::int32_t>(Candidate::index(e)));
    } else if (m.indices_64.size != 0) {
      simt.store(m.indices_64, place, Candidate::index(e));
    }
  }
}

}  // namespace kselect::queues
