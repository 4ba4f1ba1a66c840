#include "python/extension/ragged_arguments.hpp"

#include <algorithm>

#include "kselect/ragged.hpp"
#include "python/extension/raise.hpp"

namespace kselect::python {
namespace {

bool read_numbers(array& numbers, PyObject* given, const char* name, bool& is_given) {
  is_given = given != Py_None;
  if (!is_given) return true;
  if (!numbers.read(given, name, false)) return false;
  if (numbers.type != element::int32 && numbers.type != element::int64) {
    PyErr_Format(PyExc_TypeError, "%s: its dtype is neither int32 nor int64", name);
    return false;
  }
  if (numbers.dense()) return true;
  PyErr_Format(PyExc_ValueError, "%s is not dense", name);
  return false;
}

row_numbers type_of(const array& numbers, bool is_given) {
  if (!is_given) return row_numbers::none;
  return numbers.type == element::int32 ? row_numbers::int32 : row_numbers::int64;
}

bool is_there(const array& numbers, const char* name, const array& rows) {
  if (numbers.on_gpu == rows.on_gpu && numbers.gpu == rows.gpu) return true;
  PyErr_Format(PyExc_ValueError, "%s is not on the device of a", name);
  return false;
}

bool fits(const array& numbers, const char* name, const array& rows, std::int64_t wanted) {
  if (!is_there(numbers, name, rows)) return false;
  if (numbers.count() == wanted) return true;
  PyErr_Format(PyExc_ValueError, "%s has %lld numbers, but must have %lld", name,
               static_cast<long long>(numbers.count()), static_cast<long long>(wanted));
  return false;
}

// Of a mask over so many elements.
std::int64_t words_for(std::int64_t elements) { return (elements + 31) / 32; }

bool out_of_range(const char* name, std::int64_t row, std::int64_t found, std::int64_t most) {
  PyErr_Format(PyExc_ValueError, "%s has %lld in row %lld, but must have 0 to %lld there", name,
               static_cast<long long>(found), static_cast<long long>(row),
               static_cast<long long>(most));
  return false;
}

bool too_long(std::int64_t row, std::int64_t length, std::int64_t most) {
  PyErr_Format(PyExc_ValueError, "max_length = %lld, but row %lld has %lld elements",
               static_cast<long long>(most), static_cast<long long>(row),
               static_cast<long long>(length));
  return false;
}

}  // namespace

bool ragged_arguments::read_numbers_of(PyObject* const* given) {
  bool has_offsets = false;
  if (!read_numbers(lengths, given[0], "lengths", has_lengths) ||
      !read_numbers(starts, given[1], "starts", has_starts)) {
    return false;
  }
  if (given[2] != Py_None) {
    if (has_lengths || has_starts) {
      PyErr_SetString(PyExc_ValueError, "offsets are given, so neither lengths nor starts may be");
      return false;
    }
    if (!read_numbers(starts, given[2], "offsets", has_offsets)) return false;
    segments = has_starts = true;
  }
  return read_mask(given[3]);
}

bool ragged_arguments::read_mask(PyObject* given) {
  has_mask = given != Py_None;
  if (!has_mask) return true;
  if (!mask.read(given, "mask", false)) return false;
  if ((mask.type == element::int32 || mask.type == element::uint32) && mask.dense()) return true;
  PyErr_SetString(PyExc_TypeError, "mask is no dense array of words of 32 bits");
  return false;
}

bool ragged_arguments::read(PyObject* const* given) {
  return read_numbers_of(given) && read_integer(given[4], "fill", INT64_MIN, INT64_MAX, fill) &&
         read_integer(given[5], "max_length", 1, INT64_MAX, most);
}

bool ragged_arguments::complete(problem& p, std::int64_t axis) const {
  p.lengths = type_of(lengths, has_lengths);
  p.starts = type_of(starts, has_starts);
  p.segments = segments;
  p.fill = fill;
  if (has_mask) {
    p.mask = mask.dimensions == 1 ? mask_bits::columns : mask_bits::elements;
    if (mask.dimensions != 1) p.mask_pitch = words_for(axis);
  }
  if (segments) {
    p.q = starts.count() - 1;
    p.n = most;
    p.elements = axis;
    if (p.q >= 0) return true;
    PyErr_SetString(PyExc_ValueError, "offsets is empty");
    return false;
  }
  p.elements = p.input_elements();
  if (!has_lengths) return true;
  if (p.pitch == 0) p.pitch = axis;
  p.n = std::min<std::int64_t>(most, axis);
  return true;
}

bool ragged_arguments::check(const problem& p, const array& rows, std::int64_t axis) const {
  if (has_lengths && !fits(lengths, "lengths", rows, p.q)) return false;
  if (has_starts &&
      !fits(starts, segments ? "offsets" : "starts", rows, p.q + (segments ? 1 : 0))) {
    return false;
  }
  if (has_mask && !check_mask(p, rows, axis)) return false;
  if (rows.on_gpu) return true;
  for (std::int64_t row = 0; row < p.q; ++row) {
    if (!(segments ? check_segment(p, row, axis) : check_row(p, row, axis))) return false;
  }
  return true;
}

bool ragged_arguments::check_mask(const problem& p, const array& rows, std::int64_t axis) const {
  if (!is_there(mask, "mask", rows)) return false;
  const std::int64_t wanted = (p.mask == mask_bits::elements ? p.q : 1) * words_for(axis);
  if (mask.count() == wanted) return true;
  PyErr_Format(PyExc_ValueError, "mask has %lld words, but must have %lld",
               static_cast<long long>(mask.count()), static_cast<long long>(wanted));
  return false;
}

bool ragged_arguments::check_row(const problem& p, std::int64_t row, std::int64_t axis) const {
  const auto start = has_starts ? row_number(p.starts, starts.data, row) : 0;
  if (start < 0 || start > axis) return out_of_range("starts", row, start, axis);
  if (!has_lengths) return true;
  const auto length = row_number(p.lengths, lengths.data, row), left = axis - start;
  if (length < 0 || length > left) return out_of_range("lengths", row, length, left);
  return length <= p.n || too_long(row, length, p.n);
}

bool ragged_arguments::check_segment(const problem& p, std::int64_t row, std::int64_t axis) const {
  const auto start = row_number(p.starts, starts.data, row);
  const auto end = row_number(p.starts, starts.data, row + 1);
  if (start < 0 || end < start || end > axis) {
    PyErr_Format(PyExc_ValueError, "offsets: row %lld is from %lld to %lld of %lld elements",
                 static_cast<long long>(row), static_cast<long long>(start),
                 static_cast<long long>(end), static_cast<long long>(axis));
    return false;
  }
  return end - start <= p.n || too_long(row, end - start, p.n);
}

}  // namespace kselect::python
