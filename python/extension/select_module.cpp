// The extension module kselect._select: selections and searches on the caller's own memory.
// python/kselect gives it checked shapes and allocates the answers; here everything that could make
// a call unsafe is checked.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "python/extension/array.hpp"
#include "python/extension/forks.hpp"
#include "python/extension/kept_calls.hpp"
#include "python/extension/knn_calls.hpp"
#include "python/extension/knn_gpu_calls.hpp"
#include "python/extension/limited_python.hpp"
#include "python/extension/ragged_arguments.hpp"
#include "python/extension/raise.hpp"
#include "python/extension/request.hpp"
#include "python/extension/selection.hpp"
#include "python/extension/tensor_calls.hpp"
#include "python/extension/where.hpp"

namespace kselect::python {
namespace {

// The outputs and the workspace of a call.
struct outputs {
  array values, indices, workspace;
  bool has_workspace = false;

  answer_memory memory() const {
    answer_memory m{values.data, indices.data, {}, has_workspace};
    if (has_workspace) {
      m.workspace = {static_cast<std::byte*>(workspace.data),
                     static_cast<std::size_t>(workspace.count())};
    }
    return m;
  }
};

bool holds_answer(const array& out, const char* name, const problem& p, const array& rows) {
  if (out.on_gpu != rows.on_gpu || out.gpu != rows.gpu) {
    PyErr_Format(PyExc_ValueError, "%s is not on the device of a", name);
    return false;
  }
  if (!out.dense() || out.count() != p.q * p.k) {
    PyErr_Format(PyExc_ValueError, "%s is not a dense array of %lld elements", name,
                 static_cast<long long>(p.q * p.k));
    return false;
  }
  return true;
}

bool read_output(array& out, PyObject* given, const char* name, element wanted,
                 const request& asked, const array& rows) {
  if (!out.read(given, name, true)) return false;
  if (out.type == wanted) return holds_answer(out, name, asked.problem, rows);
  PyErr_Format(PyExc_TypeError, "%s has another dtype than the answer", name);
  return false;
}

bool read_workspace(array& workspace, PyObject* given, const array& rows) {
  if (!workspace.read(given, "workspace", true)) return false;
  if (workspace.on_gpu != rows.on_gpu || workspace.gpu != rows.gpu) {
    PyErr_SetString(PyExc_ValueError, "workspace is not on the device of a");
    return false;
  }
  if (workspace.type == element::uint8 && workspace.dense()) return true;
  PyErr_SetString(PyExc_TypeError, "workspace is not a dense array of uint8");
  return false;
}

// values (None: indices alone are wanted), indices, workspace.
bool read_outputs(PyObject* const* given, request& asked, const array& rows, outputs& out) {
  problem& p = asked.problem;
  if (given[0] == Py_None) {
    p.payload = payload::indices;
  } else if (!read_output(out.values, given[0], "values", rows.type, asked, rows)) {
    return false;
  }
  const element index = p.index == index_type::int64 ? element::int64 : element::int32;
  if (!read_output(out.indices, given[1], "indices", index, asked, rows)) return false;
  out.has_workspace = given[2] != Py_None;
  return !out.has_workspace || read_workspace(out.workspace, given[2], rows);
}

// The arguments that both functions begin with: a, k, axis, flags. `ragged`: those of
// ragged_arguments, or null.
outcome read_question(PyObject* const* given, PyObject* const* ragged, question& q) {
  long long k = 0, axis = 0, flags = 0;
  if (!q.rows.read(given[0], "a", false)) return outcome::failed;
  if (!read_integer(given[1], "k", INT64_MIN, INT64_MAX, k) ||
      !read_integer(given[2], "axis", 0, q.rows.dimensions - 1, axis) ||
      !read_integer(given[3], "flags", 0, most_flags, flags)) {
    return outcome::failed;
  }
  if (ragged != nullptr && !q.ragged.read(ragged)) return outcome::failed;
  q.flags = static_cast<unsigned>(flags);
  return make_request(q.rows, k, static_cast<int>(axis), q.flags,
                      ragged == nullptr ? nullptr : &q.ragged, q.asked);
}

// The rest of `count` arguments if there are more than `plain`: those of ragged rows.
PyObject* const* ragged_part(PyObject* const* given, Py_ssize_t count, Py_ssize_t plain) {
  return count == plain + ragged_arguments::count ? given + plain : nullptr;
}

constexpr const char* top_k_help =
    "top_k(a, k, axis, flags, values, indices, workspace, threads, stream\n"
    "      [, lengths, starts, offsets, mask, fill, max_length]) -> bool\n\n"
    "Selects along one axis of a into dense arrays; values may be None. False: a must be copied\n"
    "first, because its rows lie neither one after another nor, on a GPU, side by side.";

PyObject* top_k(PyObject*, PyObject* const* given, Py_ssize_t count) {
  constexpr Py_ssize_t plain = 9;
  PyObject* const* const ragged = ragged_part(given, count, plain);
  question q;
  outputs out;
  long long threads = 0, stream = 0;
  if (ragged == nullptr && !has_arguments(count, plain)) return nullptr;
  switch (read_question(given, ragged, q)) {
    case outcome::failed:
      return nullptr;
    case outcome::other_layout:
      Py_RETURN_FALSE;
    case outcome::made:
      break;
  }
  if (!read_outputs(given + 4, q.asked, q.rows, out) ||
      !read_integer(given[7], "threads", 0, INT32_MAX, threads) ||
      !read_integer(given[8], "stream", 0, INT64_MAX, stream)) {
    return nullptr;
  }
  status done;
  outcome how = outcome::made;
  Py_BEGIN_ALLOW_THREADS const where at(q.rows, static_cast<int>(threads),
                                        reinterpret_cast<void*>(stream));
  const select_plan plan = plan_of(q, at.place());
  if (takes_no_columns(plan, q)) {
    how = outcome::other_layout;
  } else {
    done = run(plan, q, out.memory(), at.place());
  }
  Py_END_ALLOW_THREADS if (how == outcome::other_layout) Py_RETURN_FALSE;
  if (!done.ok()) return raise(done);
  Py_RETURN_TRUE;
}

constexpr const char* workspace_help =
    "workspace_bytes(a, k, axis, flags, threads, has_values\n"
    "                [, lengths, starts, offsets, mask, fill, max_length]) -> int | None\n\n"
    "Bytes of workspace that top_k() needs for it; None: a must be copied first.";

PyObject* workspace_bytes(PyObject*, PyObject* const* given, Py_ssize_t count) {
  constexpr Py_ssize_t plain = 6;
  PyObject* const* const ragged = ragged_part(given, count, plain);
  question q;
  long long threads = 0, has_values = 0;
  if (ragged == nullptr && !has_arguments(count, plain)) return nullptr;
  switch (read_question(given, ragged, q)) {
    case outcome::failed:
      return nullptr;
    case outcome::other_layout:
      Py_RETURN_NONE;
    case outcome::made:
      break;
  }
  if (!read_integer(given[4], "threads", 0, INT32_MAX, threads) ||
      !read_integer(given[5], "has_values", 0, 1, has_values)) {
    return nullptr;
  }
  if (has_values == 0) q.asked.problem.payload = payload::indices;
  const where at(q.rows, static_cast<int>(threads), nullptr);
  if (!at.place().obstacle().empty()) {
    return raise({status_code::unsupported, at.place().obstacle()});
  }
  if (!q.rows.on_gpu) {
    return PyLong_FromSize_t(detail::workspace_for(q.asked.problem, at.place(), q.asked.options));
  }
  const select_plan plan = plan_of(q, at.place());
  if (takes_no_columns(plan, q)) Py_RETURN_NONE;
  return PyLong_FromSize_t(plan ? plan.workspace() : 0);
}

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef method(const char* name, const char* help) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, help};
}

int set_up(PyObject* module) {
  end_threads_before_forks();
  return PyModule_AddObjectRef(module, "HAS_CUDA", KSELECT_HAS_CUDA != 0 ? Py_True : Py_False);
}

}  // namespace
}  // namespace kselect::python

PyMODINIT_FUNC PyInit__select() {
  using namespace kselect::python;
  static PyMethodDef methods[] = {
      method<top_k>("top_k", top_k_help),
      method<workspace_bytes>("workspace_bytes", workspace_help),
      method<open_torch_functions>("open_torch", open_torch_help),
      method<top_k_of_tensor>("top_k_of_tensor", top_k_of_tensor_help),
      method<keep_call>("keep_call", keep_call_help),
      method<run_kept>("run_kept", run_kept_help),
      method<prepare_corpus>("prepare_corpus", prepare_corpus_help),
      method<search_corpus>("search_corpus", search_corpus_help),
      method<gpu_corpus_bytes>("gpu_corpus_bytes", gpu_corpus_bytes_help),
      method<prepare_gpu_corpus>("prepare_gpu_corpus", prepare_gpu_corpus_help),
      method<gpu_search_bytes>("gpu_search_bytes", gpu_search_bytes_help),
      method<search_gpu_corpus>("search_gpu_corpus", search_gpu_corpus_help),
      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&set_up)}, {0, nullptr}};
  static PyModuleDef definition = {};
  definition.m_name = "kselect._select";
  definition.m_doc = "Selections and searches on the caller's own memory.";
  definition.m_methods = methods;
  definition.m_slots = slots;
  return PyModuleDef_Init(&definition);
}
