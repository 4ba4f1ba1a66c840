// The extension module kselect._select: selections and searches on the caller's own memory.
// python/kselect gives it checked shapes and allocates the answers; here everything that could make
// a call unsafe is checked.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "python/extension/array.hpp"
#include "python/extension/knn_calls.hpp"
#include "python/extension/knn_gpu_calls.hpp"
#include "python/extension/limited_python.hpp"
#include "python/extension/raise.hpp"
#include "python/extension/request.hpp"
#include "python/extension/where.hpp"

namespace kselect::python {
namespace {

// The outputs and the workspace of a call.
struct outputs {
  array values, indices, workspace;
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

bool has_type(const array& out, const char* name, element wanted, unsigned flags) {
  const bool stands_for_it =
      wanted == element::bfloat16 && out.type == element::uint16 && (flags & is_bfloat16) != 0;
  if (out.type == wanted || stands_for_it) return true;
  PyErr_Format(PyExc_TypeError, "%s has another dtype than the answer", name);
  return false;
}

element element_of(dtype type) {
  constexpr std::array names = {element::float32, element::float64, element::float16,
                                element::bfloat16};
  return names[static_cast<std::size_t>(type)];
}

bool read_outputs(PyObject* const* given, const request& asked, const array& rows, unsigned flags,
                  outputs& out) {
  const problem& p = asked.problem;
  const element index = p.index == index_type::int64 ? element::int64 : element::int32;
  if (!out.values.read(given[0], "values", true) || !out.indices.read(given[1], "indices", true) ||
      !has_type(out.values, "values", element_of(p.type), flags) ||
      !has_type(out.indices, "indices", index, flags) ||
      !holds_answer(out.values, "values", p, rows) ||
      !holds_answer(out.indices, "indices", p, rows)) {
    return false;
  }
  if (given[2] == Py_None) return true;
  if (!out.workspace.read(given[2], "workspace", true)) return false;
  if (out.workspace.on_gpu != rows.on_gpu || out.workspace.gpu != rows.gpu) {
    PyErr_SetString(PyExc_ValueError, "workspace is not on the device of a");
    return false;
  }
  if (out.workspace.type == element::uint8 && out.workspace.dense()) return true;
  PyErr_SetString(PyExc_TypeError, "workspace is not a dense array of uint8");
  return false;
}

status run(const request& asked, const array& rows, const outputs& out, bool has_workspace,
           const place& at) {
  const detail::call_buffers buffers{rows.data, out.values.data, out.values.count(),
                                     out.indices.data, out.indices.count()};
  if (!has_workspace && !rows.on_gpu) {
    return detail::select_allocating(asked.problem, buffers, at, asked.options);
  }
  const std::span workspace(static_cast<std::byte*>(out.workspace.data),
                            has_workspace ? static_cast<std::size_t>(out.workspace.count()) : 0);
  return detail::select_checked(asked.problem, buffers, workspace, at, asked.options);
}

struct numbers {
  long long k = 0, axis = 0, flags = 0;
};

// The arguments that both functions begin with: a, k, axis, flags.
outcome read_request(PyObject* const* given, array& rows, numbers& n, request& asked) {
  if (!rows.read(given[0], "a", false)) return outcome::failed;
  if (!read_integer(given[1], "k", INT64_MIN, INT64_MAX, n.k) ||
      !read_integer(given[2], "axis", 0, rows.dimensions - 1, n.axis) ||
      !read_integer(given[3], "flags", 0, 31, n.flags)) {
    return outcome::failed;
  }
  return make_request(rows, n.k, static_cast<int>(n.axis), static_cast<unsigned>(n.flags), asked);
}

constexpr const char* top_k_help =
    "top_k(a, k, axis, flags, values, indices, workspace, threads, stream) -> bool\n\n"
    "Selects along one axis of a into dense arrays. False: a must be copied first, because its "
    "rows\n"
    "lie neither one after another nor side by side.";

PyObject* top_k(PyObject*, PyObject* const* given, Py_ssize_t count) {
  array rows;
  numbers n;
  request asked;
  outputs out;
  long long threads = 0, stream = 0;
  if (!has_arguments(count, 9)) return nullptr;
  switch (read_request(given, rows, n, asked)) {
    case outcome::failed:
      return nullptr;
    case outcome::other_layout:
      Py_RETURN_FALSE;
    case outcome::made:
      break;
  }
  if (!read_outputs(given + 4, asked, rows, static_cast<unsigned>(n.flags), out) ||
      !read_integer(given[7], "threads", 0, INT32_MAX, threads) ||
      !read_integer(given[8], "stream", 0, INT64_MAX, stream)) {
    return nullptr;
  }
  const bool has_workspace = given[6] != Py_None;
  status done;
  Py_BEGIN_ALLOW_THREADS const where at(rows, static_cast<int>(threads),
                                        reinterpret_cast<void*>(stream));
  done = run(asked, rows, out, has_workspace, at.place());
  Py_END_ALLOW_THREADS if (!done.ok()) return raise(done);
  Py_RETURN_TRUE;
}

constexpr const char* workspace_help =
    "workspace_bytes(a, k, axis, flags, threads) -> int | None\n\n"
    "Bytes of workspace that top_k() needs for it; None: a must be copied first.";

PyObject* workspace_bytes(PyObject*, PyObject* const* given, Py_ssize_t count) {
  array rows;
  numbers n;
  request asked;
  long long threads = 0;
  if (!has_arguments(count, 5)) return nullptr;
  switch (read_request(given, rows, n, asked)) {
    case outcome::failed:
      return nullptr;
    case outcome::other_layout:
      Py_RETURN_NONE;
    case outcome::made:
      break;
  }
  if (!read_integer(given[4], "threads", 0, INT32_MAX, threads)) return nullptr;
  const where at(rows, static_cast<int>(threads), nullptr);
  if (!at.place().obstacle().empty()) {
    return raise({status_code::unsupported, at.place().obstacle()});
  }
  return PyLong_FromSize_t(detail::workspace_for(asked.problem, at.place(), asked.options));
}

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef method(const char* name, const char* help) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, help};
}

int set_constants(PyObject* module) {
  return PyModule_AddObjectRef(module, "HAS_CUDA", KSELECT_HAS_CUDA != 0 ? Py_True : Py_False);
}

}  // namespace
}  // namespace kselect::python

PyMODINIT_FUNC PyInit__select() {
  using namespace kselect::python;
  static PyMethodDef methods[] = {
      method<top_k>("top_k", top_k_help),
      method<workspace_bytes>("workspace_bytes", workspace_help),
      method<prepare_corpus>("prepare_corpus", prepare_corpus_help),
      method<search_corpus>("search_corpus", search_corpus_help),
      method<gpu_corpus_bytes>("gpu_corpus_bytes", gpu_corpus_bytes_help),
      method<prepare_gpu_corpus>("prepare_gpu_corpus", prepare_gpu_corpus_help),
      method<gpu_search_bytes>("gpu_search_bytes", gpu_search_bytes_help),
      method<search_gpu_corpus>("search_gpu_corpus", search_gpu_corpus_help),
      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&set_constants)},
                                     {0, nullptr}};
  static PyModuleDef definition = {};
  definition.m_name = "kselect._select";
  definition.m_doc = "Selections and searches on the caller's own memory.";
  definition.m_methods = methods;
  definition.m_slots = slots;
  return PyModuleDef_Init(&definition);
}
