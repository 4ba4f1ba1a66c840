#include "python/extension/tensor_calls.hpp"

#include <cstddef>
#include <cstdint>

#include "python/extension/raise.hpp"
#include "python/extension/selection.hpp"
#include "python/extension/tensor_call.hpp"
#include "python/extension/torch_tensors.hpp"
#include "python/extension/where.hpp"

namespace kselect::python {
namespace {

// Allocates what is missing and selects.
bool select(tensor_call& call, new_tensor& values, new_tensor& indices) {
  const question& q = call.asked;
  const where at(q.rows, call.threads, call.stream);
  const select_plan plan = plan_of(q, at.place());
  if (!plan) return false;
  answer_memory out{call.values.data, call.indices.data, {}, false};
  if (!call.is_given) {
    const element index =
        q.asked.problem.index == index_type::int64 ? element::int64 : element::int32;
    if ((call.has_values && !values.make(call.answer_shape(), q.rows.type, q.rows)) ||
        !indices.make(call.answer_shape(), index, q.rows)) {
      return false;
    }
    out.values = values.data();
    out.indices = indices.data();
  }
  // Freed when this function returns, maybe before the GPU has worked. That is safe: whoever gets
  // the memory next works later on the same stream.
  new_tensor workspace;
  if (const auto needed = static_cast<std::int64_t>(plan.workspace());
      q.rows.on_gpu && needed > 0) {
    if (!workspace.make({&needed, 1}, element::uint8, q.rows)) return false;
    out.workspace = {static_cast<std::byte*>(workspace.data()), plan.workspace()};
    out.has_workspace = true;
  }
  return run(plan, q, out, at.place()).ok();
}

// A TopK of two new references, which it takes over; null: a Python exception is set.
PyObject* pair_of(PyObject* values, PyObject* indices) {
  PyObject* made = nullptr;
  PyObject* const pair =
      values != nullptr && indices != nullptr ? PyTuple_Pack(2, values, indices) : nullptr;
  PyObject* const arguments = pair != nullptr ? PyTuple_Pack(1, pair) : nullptr;
  if (arguments != nullptr) {
    made = known_objects().new_tuple(reinterpret_cast<PyTypeObject*>(known_objects().pair),
                                     arguments, nullptr);
  }
  Py_XDECREF(arguments);
  Py_XDECREF(pair);
  Py_XDECREF(values);
  Py_XDECREF(indices);
  return made;
}

}  // namespace

PyObject* open_torch_functions(PyObject*, PyObject* const* given, Py_ssize_t count) {
  long long threads = 0;
  if (!has_arguments(count, 6) || !read_integer(given[5], "threads", 1, INT32_MAX, threads)) {
    return nullptr;
  }
  objects read;
  read.int32 = given[2];
  read.int64 = given[3];
  read.pair = given[4];
  read.new_tuple = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
  read.requires_grad = PyUnicode_InternFromString("requires_grad");
  read.is_neg = PyUnicode_InternFromString("is_neg");
  read.threads = static_cast<int>(threads);
  if (read.requires_grad == nullptr || read.is_neg == nullptr) return nullptr;
  for (PyObject* const one : {read.int32, read.int64, read.pair}) Py_INCREF(one);
  know(read);
  return PyBool_FromLong(open_torch(given[0], given[1]) ? 1 : 0);
}

PyObject* top_k_of_tensor(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (!has_arguments(count, argument_count)) return nullptr;
  tensor_call call;
  given_outputs out;
  new_tensor values, indices;
  bool done = read_call(call, out, given);
  if (done) {
    Py_BEGIN_ALLOW_THREADS done = select(call, values, indices);
    Py_END_ALLOW_THREADS
  }
  if (!done) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (!call.is_given) {
    PyObject* const found = indices.object();
    return call.has_values ? pair_of(values.object(), found) : found;
  }
  Py_INCREF(out.indices);
  if (!call.has_values) return out.indices;
  Py_INCREF(out.values);
  return pair_of(out.values, out.indices);
}

}  // namespace kselect::python
