#pragma once
// Rows of lengths of their own, for the library's call (select.hpp): a batch of requests, candidate
// lists, the segments of one array.
//
//     kselect::ragged_rows<float, std::int32_t> rows{
//         .data = scores, .q = 64, .n = 100'000, .lengths = lengths};  // all in device memory
//     kselect::status done = kselect::select(rows, 100, values, indices, workspace, gpu);
//
//     kselect::row_segments<float, std::int64_t> lists{
//         .data = scores, .elements = 5'000'000, .q = 64, .n = 100'000, .offsets = offsets};
//
// The numbers lie in the memory of the place. On a GPU the kernel reads them: the call does not
// wait for them, and a captured graph sees those of each replay. The host gives a bound instead: n
// is the most elements that a row has. Of a longer row only the first n are read, and a negative
// length is 0; a start that leads out of the input is an error that nothing catches.
//
// Row r of the answer has k places. The indices count from the row's start. If the row has fewer
// than k elements, these come first, in any order that the options require, and the other places
// have the index `fill` and the value +inf (-inf for the largest). With `k_each` row r gives its
// k_each[r] best, of k places that the host knows; the other places are filled, too.
//
// With `map` the answer names element j of row r by map[starts[r] + j], or by map[offsets[r] + j]:
// ids of candidates, the pages of a cache. Elements of a matrix of ids, one for each element of the
// input, are named with {ids, true}: map[r * pitch + starts[r] + j]. Without lengths, starts and
// k_each rows are those of an equal matrix, whose answers a map may name, too.
//
// With `mask` a row's k best are those of its elements whose bit is set. One bit a column serves
// all rows: bit starts[r] + j admits element j of row r, bit offsets[r] + j that of a segment. With
// a pitch each row of a matrix has bits of its own. The admitted elements are gathered in the
// workspace first: they are written and read once more.

#include <type_traits>

#include "kselect/select.hpp"

namespace kselect {

// Names of elements, in the memory of the place. The indices have at least as many bits.
struct index_map {
  index_map() = default;
  index_map(const std::int32_t* names, bool of_each_element = false)
      : ids(names), type(row_numbers::int32), of_input(of_each_element) {}
  index_map(const std::int64_t* names, bool of_each_element = false)
      : ids(names), type(row_numbers::int64), of_input(of_each_element) {}

  const void* ids = nullptr;
  row_numbers type = row_numbers::none;
  bool of_input = false;
};

// Bits of 32 in a word, the lowest first, in the memory of the place: bit i is bit i % 32 of word
// i / 32. Bits beyond a row have no meaning.
struct element_mask {
  const std::uint32_t* words = nullptr;  // null: all elements are admitted
  std::int64_t pitch = 0;  // words from one row's bits to the next; 0: rows share them
};

// Q rows in a row-major matrix. Row r begins at element r * pitch + starts[r] and has lengths[r]
// elements. Either array may be null: without starts rows begin at the matrix' rows, without
// lengths they end after its n columns.
template <class T, class Number = std::int32_t>
struct ragged_rows {
  const T* data = nullptr;
  std::int64_t q = 0, n = 0;
  std::int64_t pitch = 0;  // elements between neighbouring rows of the matrix; 0: n
  const Number *lengths = nullptr, *starts = nullptr;  // Q of each
  std::int64_t elements = 0;  // of the input; 0: those of a Q x n matrix of that pitch
  std::int64_t fill = -1;
  const Number* k_each = nullptr;  // Q, each 0 to k
  index_map map = {};
  element_mask mask = {};
};

// Q rows in an array of `elements`, one after another or anywhere: row r is elements offsets[r] to
// offsets[r + 1], as in a matrix in CSR form.
template <class T, class Number = std::int64_t>
struct row_segments {
  const T* data = nullptr;
  std::int64_t elements = 0;
  std::int64_t q = 0, n = 0;
  const Number* offsets = nullptr;  // Q + 1
  std::int64_t fill = -1;
  const Number* k_each = nullptr;  // Q, each 0 to k
  index_map map = {};
  element_mask mask = {};
};

namespace detail {

template <class Number>
constexpr row_numbers row_numbers_of() {
  return index_type_of<Number>() == index_type::int32 ? row_numbers::int32 : row_numbers::int64;
}

// What both kinds of rows share.
template <class Rows>
void add_choice_of(const Rows& rows, row_numbers type, problem& p) {
  p.fill = rows.fill;
  if (rows.k_each != nullptr) p.k_each = type;
  if (rows.mask.words != nullptr) {
    p.mask = rows.mask.pitch == 0 ? mask_bits::columns : mask_bits::elements;
    p.mask_pitch = rows.mask.pitch;
  }
  if (!p.has_indices()) return;
  p.map = rows.map.type;
  p.map_of_input = rows.map.of_input;
}

template <class T, class Index, class Number>
problem problem_of(const ragged_rows<T, Number>& rows, std::int64_t k, payload wanted,
                   const select_options& options) {
  problem p = problem_of<T, Index>(
      row_matrix<T>{.data = rows.data, .q = rows.q, .n = rows.n, .pitch = rows.pitch}, k, wanted,
      options);
  if (rows.lengths != nullptr) p.lengths = row_numbers_of<Number>();
  if (rows.starts != nullptr) p.starts = row_numbers_of<Number>();
  p.elements = rows.elements;
  add_choice_of(rows, row_numbers_of<Number>(), p);
  return p;
}
template <class T, class Index, class Number>
problem problem_of(const row_segments<T, Number>& rows, std::int64_t k, payload wanted,
                   const select_options& options) {
  problem p = problem_of<T, Index>(row_matrix<T>{.data = rows.data, .q = rows.q, .n = rows.n}, k,
                                   wanted, options);
  p.starts = row_numbers_of<Number>();
  p.segments = true;
  p.elements = rows.elements;
  add_choice_of(rows, row_numbers_of<Number>(), p);
  return p;
}

template <class T, class Index, class Number>
call_buffers buffers_of(const ragged_rows<T, Number>& rows, std::span<T> values,
                        std::span<Index> indices) {
  call_buffers all = buffers_of<T, Index>(row_matrix<T>{.data = rows.data}, values, indices);
  all.lengths = rows.lengths;
  all.starts = rows.starts;
  all.k_each = rows.k_each;
  all.map = rows.map.ids;
  all.mask = rows.mask.words;
  return all;
}
template <class T, class Index, class Number>
call_buffers buffers_of(const row_segments<T, Number>& rows, std::span<T> values,
                        std::span<Index> indices) {
  call_buffers all = buffers_of<T, Index>(row_matrix<T>{.data = rows.data}, values, indices);
  all.starts = rows.offsets;
  all.k_each = rows.k_each;
  all.map = rows.map.ids;
  all.mask = rows.mask.words;
  return all;
}

template <class Rows>
struct element_of {};
template <class T, class Number>
struct element_of<ragged_rows<T, Number>> {
  using type = T;
};
template <class T, class Number>
struct element_of<row_segments<T, Number>> {
  using type = T;
};
// ragged_rows or row_segments.
template <class Rows>
concept own_lengths = requires {
  typename element_of<Rows>::type;
};
template <own_lengths Rows>
using element_in = typename element_of<Rows>::type;

}  // namespace detail

// As select_workspace() and select_indices_workspace(): scratch memory of a call.
template <class Index, detail::own_lengths Rows>
std::size_t select_workspace(const Rows& rows, std::int64_t k, const place& where,
                             const select_options& options = {}) {
  using T = detail::element_in<Rows>;
  return detail::workspace_for(
      detail::problem_of<T, Index>(rows, k, payload::values_and_indices, options), where, options);
}
template <class Index, detail::own_lengths Rows>
std::size_t select_indices_workspace(const Rows& rows, std::int64_t k, const place& where,
                                     const select_options& options = {}) {
  using T = detail::element_in<Rows>;
  return detail::workspace_for(detail::problem_of<T, Index>(rows, k, payload::indices, options),
                               where, options);
}

// As select() on a matrix. k may exceed n. `values` or `indices` may be empty. Errors are those,
// and `invalid` if an array of numbers is null or a map's numbers do not fit the indices. Not every
// algorithm takes such rows; `auto` does, on a GPU of rows of 16 bits where k fits its lists in
// shared memory (some thousands).
template <detail::own_lengths Rows, detail::index_range Indices>
status select(const Rows& rows, std::int64_t k, std::span<detail::element_in<Rows>> values,
              Indices&& indices, std::span<std::byte> workspace, const place& where,
              const select_options& options = {}) {
  using T = detail::element_in<Rows>;
  using index = detail::index_in<Indices>;
  const std::span<index> found(indices);
  const problem p = detail::problem_of<T, index>(
      rows, k, detail::payload_of(!values.empty(), !found.empty()), options);
  return detail::select_checked(p, detail::buffers_of<T, index>(rows, values, found), workspace,
                                where, options);
}

// On the CPU, with a workspace that the call allocates.
template <detail::own_lengths Rows, detail::index_range Indices>
status select(const Rows& rows, std::int64_t k, std::span<detail::element_in<Rows>> values,
              Indices&& indices, const place& where = place::cpu(),
              const select_options& options = {}) {
  using T = detail::element_in<Rows>;
  using index = detail::index_in<Indices>;
  const std::span<index> found(indices);
  const problem p = detail::problem_of<T, index>(
      rows, k, detail::payload_of(!values.empty(), !found.empty()), options);
  return detail::select_allocating(p, detail::buffers_of<T, index>(rows, values, found), where,
                                   options);
}

// As plan_select() and plan_select_indices(). Whether the arrays of numbers are null counts; they
// are not read.
template <class Index = std::int32_t, detail::own_lengths Rows>
select_plan plan_select(const Rows& rows, std::int64_t k, const place& where,
                        const select_options& options = {}) {
  constexpr bool indexed = !std::is_void_v<Index>;
  using index = std::conditional_t<indexed, Index, std::int32_t>;
  using T = detail::element_in<Rows>;
  return detail::plan_checked(
      detail::problem_of<T, index>(rows, k, detail::payload_of(true, indexed), options), where,
      options);
}
template <class Index = std::int32_t, detail::own_lengths Rows>
select_plan plan_select_indices(const Rows& rows, std::int64_t k, const place& where,
                                const select_options& options = {}) {
  using T = detail::element_in<Rows>;
  return detail::plan_checked(detail::problem_of<T, Index>(rows, k, payload::indices, options),
                              where, options);
}

// As planned, on the plan's place.
template <detail::own_lengths Rows, detail::index_range Indices>
status select(const select_plan& plan, const Rows& rows, std::span<detail::element_in<Rows>> values,
              Indices&& indices, std::span<std::byte> workspace) {
  using T = detail::element_in<Rows>;
  using index = detail::index_in<Indices>;
  const std::span<index> found(indices);
  const problem p = detail::problem_of<T, index>(
      rows, plan.problem().k, detail::payload_of(!values.empty(), !found.empty()),
      {.direction = plan.problem().direction, .nan = plan.problem().nan});
  return detail::select_planned(plan, p, detail::buffers_of<T, index>(rows, values, found),
                                workspace, nullptr);
}

}  // namespace kselect
