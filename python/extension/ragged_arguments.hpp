#pragma once
// Rows of lengths of their own, as a call from Python gives them: arrays of one number a row.
// Beside them, the bits of a mask.

#include <cstdint>

#include "kselect/select.hpp"
#include "python/extension/array.hpp"
#include "python/extension/limited_python.hpp"

namespace kselect::python {

// Either `lengths`, `starts` or both belong to a matrix, or `starts` are the Q + 1 offsets of
// segments of one array. `mask` has words of 32 bits: of one dimension, for the elements of the
// axis, which all rows share; or of more, as many for each row. `most` is the most elements that a
// row has.
struct ragged_arguments {
  static constexpr Py_ssize_t count = 6;  // lengths, starts, offsets, mask, fill, most

  array lengths, starts, mask;
  bool has_lengths = false, has_starts = false, has_mask = false, segments = false;
  long long fill = -1, most = 0;

  // None stands for no array. False: a Python exception is set.
  bool read(PyObject* const* given);
  bool read_numbers_of(PyObject* const* given);  // the arrays alone
  // Completes the problem of a matrix whose rows have `axis` elements, or makes that of segments
  // of `axis` elements. False: a Python exception is set.
  bool complete(problem& p, std::int64_t axis) const;
  // Whether the arrays are where `rows` is. In host memory, also whether each row is a part of the
  // axis, so that nothing beyond it is read. False: a Python exception is set.
  bool check(const problem& p, const array& rows, std::int64_t axis) const;

 private:
  bool read_mask(PyObject* given);
  bool check_mask(const problem& p, const array& rows, std::int64_t axis) const;
  bool check_row(const problem& p, std::int64_t row, std::int64_t axis) const;
  bool check_segment(const problem& p, std::int64_t row, std::int64_t axis) const;
};

}  // namespace kselect::python
