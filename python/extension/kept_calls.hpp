#pragma once
// Calls of a kselect.Plan on torch's tensors: all but the rows is read once.

#include "python/extension/limited_python.hpp"

namespace kselect::python {

inline constexpr const char* keep_call_help =
    "keep_call(the arguments of top_k_of_tensor, workspace) -> capsule | None\n\n"
    "Reads a call for tensors like a; out must be given, and workspace is a tensor of uint8. "
    "None:\n"
    "such calls take a longer way.";
PyObject* keep_call(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* run_kept_help =
    "run_kept(capsule, a) -> bool\n\n"
    "Selects from a into the outputs of the kept call. False: a is of another shape, dtype, "
    "device\n"
    "or kind, or takes a longer way, which says what is wrong.";
PyObject* run_kept(PyObject*, PyObject* const* given, Py_ssize_t count);

}  // namespace kselect::python
