#include "python/extension/torch_tensors.hpp"

#include <array>
#include <dlfcn.h>

namespace kselect::python {
namespace {

// From torch/csrc/inductor/aoti_torch/c/shim.h, whose ABI is kept from version to version. Each
// returns 0 if it succeeded.
using empty_function = int (*)(std::int64_t dimensions, const std::int64_t* shape,
                               const std::int64_t* strides, std::int32_t type,
                               std::int32_t device_kind, std::int32_t device, void** made);
using data_function = int (*)(void* handle, void** data);
using drop_function = int (*)(void* handle);
using number_function = std::int32_t (*)();
// PyObject* THPVariable_Wrap(const at::TensorBase&), which every function of torch's returns by. A
// handle is a pointer to such a tensor.
using wrap_function = PyObject* (*)(const void* tensor);

// In the order of `element`, whose other types are never made.
constexpr std::array type_names = {"aoti_torch_dtype_float32", "aoti_torch_dtype_float64",
                                   "aoti_torch_dtype_float16", "aoti_torch_dtype_bfloat16",
                                   "aoti_torch_dtype_int32",   "aoti_torch_dtype_int64",
                                   "aoti_torch_dtype_int8",    "aoti_torch_dtype_uint8",
                                   "aoti_torch_dtype_uint16",  "aoti_torch_dtype_uint32"};
// In the order of `element`.
static_assert(type_names.size() == static_cast<std::size_t>(element::other));

struct functions {
  PyObject* type = nullptr;  // null: there are none
  const dlpack::exchange* exchange = nullptr;
  empty_function empty = nullptr;
  data_function data = nullptr;
  drop_function drop = nullptr;
  wrap_function wrap = nullptr;
  std::array<std::int32_t, type_names.size()> types{};
  std::int32_t on_host = 0, on_gpu = 0;  // torch's numbers of these devices
};

functions found;

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool look_up_number(void* library, const char* name, std::int32_t& number) {
  number_function function = nullptr;
  if (!look_up(library, name, function)) return false;
  number = function();
  return true;
}

bool look_up_all(void* library, functions& all) {
  if (!look_up(library, "aoti_torch_empty_strided", all.empty) ||
      !look_up(library, "aoti_torch_get_data_ptr", all.data) ||
      !look_up(library, "aoti_torch_delete_tensor_object", all.drop) ||
      !look_up(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE", all.wrap) ||
      !look_up_number(library, "aoti_torch_device_type_cpu", all.on_host) ||
      !look_up_number(library, "aoti_torch_device_type_cuda", all.on_gpu)) {
    return false;
  }
  for (std::size_t i = 0; i < type_names.size(); ++i) {
    if (!look_up_number(library, type_names[i], all.types[i])) return false;
  }
  return true;
}

const dlpack::exchange* known_exchange(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::exchange_name) == 0) return nullptr;
  const auto* exchange =
      static_cast<const dlpack::exchange*>(PyCapsule_GetPointer(capsule, dlpack::exchange_name));
  while (exchange != nullptr && exchange->major != dlpack::known_major) {
    exchange = exchange->previous;
  }
  const bool has_both =
      exchange != nullptr && exchange->view != nullptr && exchange->current_stream != nullptr;
  return has_both ? exchange : nullptr;
}

}  // namespace

bool open_torch(PyObject* type, PyObject* exchange) {
  // Python loads it apart, so its functions are found by the library's name, which must be loaded.
  void* const library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  functions all;
  all.exchange = known_exchange(exchange);
  if (all.exchange == nullptr || !look_up_all(library, all)) return false;
  Py_INCREF(type);
  all.type = type;
  found = all;
  return true;
}

bool is_tensor(PyObject* object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == found.type;
}

bool view(PyObject* tensor, dlpack::tensor& out) { return found.exchange->view(tensor, &out) == 0; }

bool current_stream(int gpu, void*& stream) {
  return found.exchange->current_stream(dlpack::cuda, gpu, &stream) == 0;
}

new_tensor::~new_tensor() {
  if (handle_ != nullptr) found.drop(handle_);
}

bool new_tensor::make(std::span<const std::int64_t> shape, element type, const array& like) {
  if (static_cast<std::size_t>(type) >= type_names.size()) return false;
  std::array<std::int64_t, array::most_dimensions> strides;
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  return found.empty(static_cast<std::int64_t>(shape.size()), shape.data(), strides.data(),
                     found.types[static_cast<std::size_t>(type)],
                     like.on_gpu ? found.on_gpu : found.on_host, like.on_gpu ? like.gpu : 0,
                     &handle_) == 0 &&
         found.data(handle_, &data_) == 0;
}

PyObject* new_tensor::object() const { return found.wrap(handle_); }

}  // namespace kselect::python
