#include "python/extension/tensor_call.hpp"

#include <algorithm>

#include "python/extension/raise.hpp"
#include "python/extension/torch_tensors.hpp"

namespace kselect::python {
namespace {

objects known;

bool has_shape(const array& a, std::span<const std::int64_t> shape) {
  return a.dimensions == static_cast<int>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), a.shape.begin());
}

// The bytes from the first to the last element.
struct extent {
  std::uintptr_t begin, end;
};
extent extent_of(const array& a) {
  std::int64_t least = 0, most = 0;
  for (int i = 0; i < a.dimensions; ++i) {
    const std::int64_t reach = (a.shape[i] - 1) * a.strides[i];
    (reach < 0 ? least : most) += reach;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(a.data);
  const auto size = size_of(a.type);
  return {at + static_cast<std::uintptr_t>(least * size),
          at + static_cast<std::uintptr_t>((most + 1) * size)};
}

bool overlap(const array& a, const array& b) {
  const extent one = extent_of(a), other = extent_of(b);
  return one.begin < other.end && other.begin < one.end;
}

// False: `out` is not as it must be.
bool find_outputs(given_outputs& found, PyObject* out, bool has_values) {
  if (out == Py_None) return true;
  if (!has_values) {
    found.indices = out;
  } else if (PyTuple_CheckExact(out) != 0 && PyTuple_Size(out) == 2) {
    found.values = PyTuple_GetItem(out, 0);
    found.indices = PyTuple_GetItem(out, 1);
  }
  return found.indices != nullptr && is_tensor(found.indices) &&
         (found.values == nullptr || is_tensor(found.values));
}

// The index type's flag: that of index_dtype, or of the output, or else int64's.
bool read_index_type(tensor_call& call, PyObject* index_dtype, const given_outputs& out) {
  element type = element::int64;
  if (out.indices != nullptr) {
    if (!call.indices.read(out.indices, "out", true)) return false;
    type = call.indices.type;
  }
  if (index_dtype == known.int32) type = element::int32;
  if (index_dtype == known.int64) type = element::int64;
  if (type == element::int64) call.asked.flags |= wide_indices;
  return index_dtype == Py_None || index_dtype == known.int32 || index_dtype == known.int64;
}

bool is(PyObject* given, const char* text) {
  return PyUnicode_Check(given) != 0 && PyUnicode_CompareWithASCIIString(given, text) == 0;
}

// Sets `flag` in `flags` if the object is true.
bool read_flag(PyObject* given, unsigned flag, unsigned& flags) {
  const int truth = PyObject_IsTrue(given);
  if (truth > 0) flags |= flag;
  return truth >= 0;
}

// All flags but the index type's.
bool read_flags(PyObject* const* given, unsigned& flags) {
  if (is(given[mode_], "largest")) {
    flags |= largest;
  } else if (!is(given[mode_], "smallest")) {
    return false;
  }
  if (is(given[nan_], "last")) {
    flags |= nan_last;
  } else if (!is(given[nan_], "total_order")) {
    return false;
  }
  return read_flag(given[sorted_], sorted, flags) && read_flag(given[stable_], stable, flags);
}

bool is_answer(const array& out, element type, const tensor_call& call) {
  const array& rows = call.asked.rows;
  return out.type == type && out.on_gpu == rows.on_gpu && out.gpu == rows.gpu && out.dense() &&
         has_shape(out, call.answer_shape()) && !overlap(out, rows);
}

// Whether numbers of rows and a mask are tensors, or None.
bool are_tensors(PyObject* const* given) {
  return std::all_of(given, given + 4,
                     [](PyObject* one) { return one == Py_None || is_tensor(one); });
}

// Whether a mask has words for the last axis of `rows`: for all rows, or for each.
bool has_words(const array& mask, const array& rows) {
  const int last = mask.dimensions - 1;
  if (last < 0 || mask.shape[last] != (rows.shape[rows.dimensions - 1] + 31) / 32) return false;
  return last == 0 ||
         (mask.dimensions == rows.dimensions &&
          std::equal(mask.shape.begin(), mask.shape.begin() + last, rows.shape.begin()));
}

// The most elements of a segment; offsets are in host memory.
long long longest(const array& offsets) {
  long long most = 1;
  const auto number = [&](std::int64_t i) {
    return offsets.type == element::int32 ? static_cast<const std::int32_t*>(offsets.data)[i]
                                          : static_cast<const std::int64_t*>(offsets.data)[i];
  };
  for (std::int64_t i = 1; i < offsets.count(); ++i) {
    most = std::max<long long>(most, number(i) - number(i - 1));
  }
  return most;
}

// `given` are all arguments; `axis_length` is that of the last axis.
bool read_ragged(ragged_arguments& ragged, PyObject* const* given, const array& rows,
                 std::int64_t axis_length) {
  const std::span<const std::int64_t> of_rows(rows.shape.data(),
                                              static_cast<std::size_t>(rows.dimensions - 1));
  const bool is_bounded = given[max_length_] != Py_None;
  long long most = axis_length;
  if (!are_tensors(given + lengths_) || !ragged.read_numbers_of(given + lengths_) ||
      !read_integer(given[fill_], "fill", INT64_MIN, INT64_MAX, ragged.fill) ||
      (is_bounded && !read_integer(given[max_length_], "max_length", 1, INT64_MAX, most))) {
    return false;
  }
  if (ragged.has_mask && !has_words(ragged.mask, rows)) return false;
  if (ragged.segments) {
    if (rows.dimensions != 1 || ragged.starts.dimensions != 1) return false;
    if (!is_bounded && !ragged.starts.on_gpu) most = longest(ragged.starts);
  } else {
    if ((ragged.has_lengths && !has_shape(ragged.lengths, of_rows)) ||
        (ragged.has_starts && !has_shape(ragged.starts, of_rows)) ||
        (is_bounded && !ragged.has_lengths)) {
      return false;
    }
    most = std::min<long long>(most, axis_length);
  }
  ragged.most = most;
  return true;
}

// The shape of the answer, whose problem is known.
void set_shape(tensor_call& call) {
  const question& q = call.asked;
  const int last = q.rows.dimensions - 1;
  std::copy_n(q.rows.shape.begin(), last, call.shape.begin());
  call.dimensions = q.ragged.segments ? 2 : last + 1;
  if (q.ragged.segments) call.shape[0] = q.asked.problem.q;
  call.shape[call.dimensions - 1] = q.asked.problem.k;
}

// `k` and the rows, of lengths of their own or not. False: the call goes another way.
bool read_rows(tensor_call& call, PyObject* const* given) {
  question& q = call.asked;
  long long k = 0;
  if (!q.rows.read(given[a_], "a", false) || q.rows.dimensions == 0 || q.rows.count() == 0 ||
      !read_integer(given[k_], "k", 1, INT64_MAX, k)) {
    return false;
  }
  const int last = q.rows.dimensions - 1;
  const bool is_ragged = std::any_of(given + lengths_, given + max_length_ + 1,
                                     [](PyObject* one) { return one != Py_None; });
  if (is_ragged && !read_ragged(q.ragged, given, q.rows, q.rows.shape[last])) return false;
  if (make_request(q.rows, k, last, q.flags, is_ragged ? &q.ragged : nullptr, q.asked) !=
      outcome::made) {
    return false;
  }
  problem& p = q.asked.problem;
  if (!call.has_values) p.payload = payload::indices;
  set_shape(call);
  return p.q > 0 && (p.index == index_type::int64 || p.n <= INT32_MAX);
}

}  // namespace

void know(const objects& read) { known = read; }
const objects& known_objects() { return known; }

bool is_plain(PyObject* tensor) {
  PyObject* const follows = PyObject_GetAttr(tensor, known.requires_grad);
  PyObject* const negated = PyObject_CallMethodObjArgs(tensor, known.is_neg, nullptr);
  const bool plain = follows == Py_False && negated == Py_False;
  Py_XDECREF(follows);
  Py_XDECREF(negated);
  return plain;
}

bool read_call(tensor_call& call, given_outputs& out, PyObject* const* given) {
  unsigned indices_only = 0;
  long long threads = known.threads;
  if (!is_tensor(given[a_]) || !is_plain(given[a_]) || !read_flags(given, call.asked.flags) ||
      !read_flag(given[indices_only_], 1, indices_only) ||
      (given[threads_] != Py_None && !read_integer(given[threads_], "threads", 1, 4096, threads))) {
    return false;
  }
  call.has_values = indices_only == 0;
  call.threads = static_cast<int>(threads);
  if (!find_outputs(out, given[out_], call.has_values) ||
      !read_index_type(call, given[index_dtype_], out) || !read_rows(call, given)) {
    return false;
  }
  const question& q = call.asked;
  call.is_given = out.indices != nullptr;
  if (call.is_given) {
    const bool wide = q.asked.problem.index == index_type::int64;
    if (!is_answer(call.indices, wide ? element::int64 : element::int32, call)) return false;
    if (call.has_values && (!call.values.read(out.values, "out", true) ||
                            !is_answer(call.values, q.rows.type, call))) {
      return false;
    }
  }
  return !q.rows.on_gpu || current_stream(q.rows.gpu, call.stream);
}

}  // namespace kselect::python
