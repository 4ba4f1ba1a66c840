#pragma once
// A call of kselect.top_k() on a tensor of torch's, whose arguments have been read.

#include <array>
#include <cstdint>
#include <span>

#include "python/extension/array.hpp"
#include "python/extension/limited_python.hpp"
#include "python/extension/selection.hpp"

namespace kselect::python {

// The arguments, in their order.
enum argument : Py_ssize_t {
  a_,
  k_,
  mode_,
  sorted_,
  nan_,
  stable_,
  indices_only_,
  lengths_,
  starts_,
  offsets_,
  mask_,
  max_length_,
  fill_,
  out_,
  index_dtype_,
  threads_,
  argument_count
};

// What open_torch_functions() was given and looked up, and lives as long as the process.
struct objects {
  PyObject *int32 = nullptr, *int64 = nullptr, *pair = nullptr;
  newfunc new_tuple = nullptr;  // tuple.__new__, which makes a TopK of a tuple
  PyObject *requires_grad = nullptr, *is_neg = nullptr;  // names
  int threads = 1;
};

void know(const objects& read);
const objects& known_objects();

struct tensor_call {
  question asked;
  std::array<std::int64_t, array::most_dimensions> shape;  // the answer's
  int dimensions = 0;
  bool has_values = true;
  int threads = 0;
  void* stream = nullptr;
  array values, indices;  // the caller's, if is_given
  bool is_given = false;

  std::span<const std::int64_t> answer_shape() const {
    return {shape.data(), static_cast<std::size_t>(dimensions)};
  }
};

// The caller's objects for the answer, borrowed; null: to be allocated.
struct given_outputs {
  PyObject *values = nullptr, *indices = nullptr;
};

// Reads all arguments. False: the call is wrong or goes another way; an exception may be set.
bool read_call(tensor_call& call, given_outputs& out, PyObject* const* given);

// Whether a tensor's numbers are those in its memory, and no gradient is to be followed.
bool is_plain(PyObject* tensor);

}  // namespace kselect::python
