#include "python/extension/request.hpp"

#include <optional>

namespace kselect::python {
namespace {

// Neighbouring elements of a sequence lie `step` elements apart.
struct sequence {
  std::int64_t count = 1, step = 0;
};

// All dimensions but `axis`, in order, as one; nothing if their elements are not evenly apart.
std::optional<sequence> rows_of(const array& a, int axis) {
  sequence rows;
  for (int i = a.dimensions - 1; i >= 0; --i) {
    if (i == axis || a.shape[i] == 1) continue;
    if (rows.count == 1) {
      rows.step = a.strides[i];
    } else if (a.strides[i] != rows.count * rows.step) {
      return std::nullopt;
    }
    rows.count *= a.shape[i];
  }
  return rows;
}

// Sets layout and pitch. False: the rows lie neither one after another nor side by side.
bool lay_out(problem& p, const sequence& rows, std::int64_t step, bool on_gpu) {
  const bool one_row = p.q == 1, one_column = p.n == 1;
  if ((step == 1 || one_column) && (one_row || rows.step >= p.n)) {
    p.layout = layout::row_major;
    p.pitch = one_row ? 0 : rows.step;
    return true;
  }
  // In host memory a copy costs less than the members of `auto` that take columns.
  if (on_gpu && (rows.step == 1 || one_row) && step >= p.q) {
    p.layout = layout::column_major;
    p.pitch = step;
    return true;
  }
  return false;
}

std::optional<dtype> type_of(const array& a, unsigned flags) {
  switch (a.type) {
    case element::float32:
      return dtype::float32;
    case element::float64:
      return dtype::float64;
    case element::float16:
      return dtype::float16;
    case element::bfloat16:
      return dtype::bfloat16;
    case element::uint16:
      if ((flags & is_bfloat16) != 0) return dtype::bfloat16;
      break;
    case element::int32:
      return dtype::int32;
    case element::uint32:
      return dtype::uint32;
    case element::int8:
      return dtype::int8;
    case element::uint8:
      if ((flags & is_float8_e4m3fn) != 0) return dtype::float8_e4m3fn;
      if ((flags & is_float8_e5m2) != 0) return dtype::float8_e5m2;
      return dtype::uint8;
    default:
      break;
  }
  return std::nullopt;
}

bool has_nan(dtype type) {
  return visit_number(type, []<class T>(T) { return dtype_traits<T>::has_nan; });
}

select_options options_of(unsigned flags, dtype type) {
  select_options o;
  if ((flags & nan_last) != 0 && has_nan(type)) o.nan = nan_order::last;
  o.direction = (flags & largest) != 0 ? direction::largest : direction::smallest;
  const bool in_order = (flags & sorted) != 0, first_of_equal = (flags & stable) != 0;
  if (in_order) {
    o.require.ordering = first_of_equal ? output_ordering::stable_sorted : output_ordering::sorted;
  }
  if (first_of_equal) o.require.tie_break = tie_break::prefer_smaller_index;
  return o;
}

outcome make_ragged(const array& a, int axis, const ragged_arguments& ragged, problem& p) {
  if (p.layout != layout::row_major) return outcome::other_layout;
  if (ragged.segments && p.q != 1) {
    PyErr_SetString(PyExc_ValueError, "offsets are given, so a must have one dimension");
    return outcome::failed;
  }
  const bool right = ragged.complete(p, a.shape[axis]) && ragged.check(p, a, a.shape[axis]);
  return right ? outcome::made : outcome::failed;
}

}  // namespace

outcome make_request(const array& a, std::int64_t k, int axis, unsigned flags,
                     const ragged_arguments* ragged, request& made) {
  const auto type = type_of(a, flags);
  if (!type) {
    PyErr_SetString(PyExc_TypeError,
                    "a: its dtype is not supported; float32, float64, float16, bfloat16, int32, "
                    "uint32, int8, uint8, float8_e4m3fn and float8_e5m2 are");
    return outcome::failed;
  }
  made.options = options_of(flags, *type);
  problem& p = made.problem;
  p.n = a.shape[axis];
  p.k = k;
  p.type = *type;
  p.index = (flags & wide_indices) != 0 ? index_type::int64 : index_type::int32;
  p.direction = made.options.direction;
  p.nan = made.options.nan;
  if (k < 1 || (ragged == nullptr && k > p.n)) {
    PyErr_Format(PyExc_ValueError, "k = %lld, but must be 1 to %lld, the length of that axis of a",
                 static_cast<long long>(k), static_cast<long long>(p.n));
    return outcome::failed;
  }
  const auto rows = rows_of(a, axis);
  if (!rows || !a.addressable()) return outcome::other_layout;
  p.q = rows->count;
  if (!lay_out(p, *rows, a.strides[axis], a.on_gpu)) return outcome::other_layout;
  if (ragged == nullptr) return outcome::made;
  return make_ragged(a, axis, *ragged, p);
}

}  // namespace kselect::python
