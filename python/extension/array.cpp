#include "python/extension/array.hpp"

#include <bit>
#include <cstring>
#include <string_view>

#include "python/extension/torch_tensors.hpp"

namespace kselect::python {
namespace {

// struct's format characters; numbers are of this machine's byte order.
element element_of(std::string_view format, Py_ssize_t size) {
  constexpr bool little = std::endian::native == std::endian::little;
  if (!format.empty() &&
      (format[0] == '@' || format[0] == '=' || format[0] == (little ? '<' : '>'))) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return element::other;
  switch (format[0]) {
    case 'f':
      return element::float32;
    case 'd':
      return element::float64;
    case 'e':
      return element::float16;
    case 'b':
      return element::int8;
    case 'B':
      return element::uint8;
    case 'H':
      return element::uint16;
    case 'I':
      return element::uint32;
    case 'i':
    case 'l':
    case 'q':
      return size == 4 ? element::int32 : element::int64;
    default:
      return element::other;
  }
}

element element_of(dlpack::data_type type) {
  if (type.lanes != 1) return element::other;
  const auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
  if (is(dlpack::floating, 32)) return element::float32;
  if (is(dlpack::floating, 64)) return element::float64;
  if (is(dlpack::floating, 16)) return element::float16;
  if (is(dlpack::bfloat, 16)) return element::bfloat16;
  if (is(dlpack::signed_integer, 32)) return element::int32;
  if (is(dlpack::signed_integer, 64)) return element::int64;
  if (is(dlpack::signed_integer, 8)) return element::int8;
  if (is(dlpack::unsigned_integer, 8)) return element::uint8;
  if (is(dlpack::unsigned_integer, 32)) return element::uint32;
  return element::other;
}

bool too_many(const char* name, int dimensions) {
  if (dimensions <= array::most_dimensions) return false;
  PyErr_Format(PyExc_ValueError, "%s has %d dimensions; at most %d are supported", name, dimensions,
               array::most_dimensions);
  return true;
}

}  // namespace

array::~array() {
  if (held_) PyBuffer_Release(&buffer_);
}

bool array::read(PyObject* source, const char* name, bool writable) {
  if (is_tensor(source)) {
    dlpack::tensor found{};
    return view(source, found) && take(found, name);
  }
  return PyCapsule_CheckExact(source) ? read_capsule(source, name, writable)
                                      : read_buffer(source, name, writable);
}

bool array::read_buffer(PyObject* source, const char* name, bool writable) {
  const int asked = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(source, &buffer_, asked) != 0) {
    if (writable && (PyErr_ExceptionMatches(PyExc_ValueError) != 0 ||
                     PyErr_ExceptionMatches(PyExc_BufferError) != 0)) {
      PyErr_Clear();
      PyErr_Format(PyExc_ValueError, "%s is read-only", name);
    }
    return false;
  }
  held_ = true;
  if (too_many(name, buffer_.ndim)) return false;
  type = element_of(buffer_.format == nullptr ? "B" : buffer_.format, buffer_.itemsize);
  data = buffer_.buf;
  dimensions = buffer_.ndim;
  for (int i = 0; i < dimensions; ++i) {
    shape[i] = buffer_.shape[i];
    whole_strides_ &= buffer_.strides[i] % buffer_.itemsize == 0 || shape[i] <= 1;
    strides[i] = buffer_.strides[i] / buffer_.itemsize;
  }
  return true;
}

bool array::read_capsule(PyObject* source, const char* name, bool writable) {
  if (PyCapsule_IsValid(source, dlpack::versioned_name) != 0) {
    const auto* managed =
        static_cast<const dlpack::versioned*>(PyCapsule_GetPointer(source, dlpack::versioned_name));
    if (managed->major != dlpack::known_major) {
      PyErr_Format(PyExc_BufferError, "%s is of DLPack's version %d; version %d is supported", name,
                   static_cast<int>(managed->major), static_cast<int>(dlpack::known_major));
      return false;
    }
    if (writable && (managed->flags & dlpack::read_only) != 0) {
      PyErr_Format(PyExc_ValueError, "%s is read-only", name);
      return false;
    }
    return take(managed->tensor, name);
  }
  const auto* const found =
      static_cast<const dlpack::tensor*>(PyCapsule_GetPointer(source, dlpack::unversioned_name));
  return found != nullptr && take(*found, name);
}

bool array::take(const dlpack::tensor& found, const char* name) {
  if (too_many(name, found.dimensions)) return false;
  on_gpu = found.device.kind == dlpack::cuda || found.device.kind == dlpack::cuda_managed;
  if (!on_gpu && found.device.kind != dlpack::cpu && found.device.kind != dlpack::cuda_host) {
    PyErr_Format(PyExc_TypeError, "%s is neither in host memory nor on a CUDA GPU", name);
    return false;
  }
  gpu = found.device.id;
  type = element_of(found.type);
  data = static_cast<char*>(found.data) + found.byte_offset;
  dimensions = found.dimensions;
  std::int64_t step = 1;
  for (int i = dimensions - 1; i >= 0; --i) {
    shape[i] = found.shape[i];
    strides[i] = found.strides == nullptr ? step : found.strides[i];
    step *= shape[i];
  }
  return true;
}

bool array::addressable() const {
  return whole_strides_ &&
         reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size_of(type)) == 0;
}

std::int64_t array::count() const {
  std::int64_t all = 1;
  for (int i = 0; i < dimensions; ++i) all *= shape[i];
  return all;
}

bool array::dense() const {
  if (!addressable()) return false;
  if (count() == 0) return true;  // strides then mean nothing; CuPy's are 0
  std::int64_t step = 1;
  for (int i = dimensions - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

}  // namespace kselect::python
