#pragma once
// Selections from torch's tensors in one call, outputs and workspace included.

#include "python/extension/limited_python.hpp"

namespace kselect::python {

inline constexpr const char* open_torch_help =
    "open_torch(torch.Tensor, exchange, torch.int32, torch.int64, TopK, threads) -> bool\n\n"
    "Looks up torch's functions of C; exchange is torch.Tensor.__dlpack_c_exchange_api__. threads\n"
    "are those of calls that do not say. False: this torch lacks a function, and\n"
    "top_k_of_tensor() returns None.";
PyObject* open_torch_functions(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* top_k_of_tensor_help =
    "top_k_of_tensor(a, k, mode, sorted, nan, stable, indices_only, lengths, starts, offsets,\n"
    "                mask, max_length, fill, out, index_dtype, threads) -> TopK | Tensor | None\n\n"
    "kselect.top_k() of a tensor's last axis, with all of its arguments. None: nothing was done,\n"
    "because the call is wrong or takes a longer way, which says what is wrong.";
PyObject* top_k_of_tensor(PyObject*, PyObject* const* given, Py_ssize_t count);

}  // namespace kselect::python
