#pragma once
// Tensors of torch's by functions of C, which cost a tenth of what the same costs in Python:
// DLPack's exchange functions read a tensor and its stream, and functions of torch's C interface
// for compiled code make one, as torch.empty does.
//
// They are looked up in the torch that the process has loaded. Where one is missing, as in torch
// before 2.10, callers go through Python.

#include <cstddef>
#include <cstdint>
#include <span>

#include "python/extension/array.hpp"
#include "python/extension/dlpack.hpp"
#include "python/extension/limited_python.hpp"

namespace kselect::python {

// Looks the functions up. `type` is torch.Tensor, `exchange` its capsule of DLPack's functions.
// False: one is missing; no exception is set.
bool open_torch(PyObject* type, PyObject* exchange);

// Whether it is of type torch.Tensor itself, and open_torch() found the functions.
bool is_tensor(PyObject* object);

// False: a Python exception is set.
bool view(PyObject* tensor, dlpack::tensor& out);
bool current_stream(int gpu, void*& stream);

// A tensor that no Python object stands for yet: dense, row-major, of any contents.
class new_tensor {
 public:
  new_tensor() = default;
  new_tensor(const new_tensor&) = delete;
  new_tensor& operator=(const new_tensor&) = delete;
  ~new_tensor();

  // Allocates it where `like` is. The caller need not hold the interpreter's lock. False: torch
  // refused.
  bool make(std::span<const std::int64_t> shape, element type, const array& like);
  void* data() const { return data_; }
  // A new reference to its Python object; null: a Python exception is set.
  PyObject* object() const;

 private:
  void* handle_ = nullptr;  // AtenTensorHandle
  void* data_ = nullptr;
};

}  // namespace kselect::python
