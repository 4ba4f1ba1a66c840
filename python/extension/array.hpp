#pragma once
// An array of the caller, seen through Python's buffer protocol, through a DLPack capsule or, if it
// is a tensor of torch's, through torch's own functions (torch_tensors.hpp). Nothing is copied.

#include <array>
#include <cstdint>

#include "python/extension/dlpack.hpp"
#include "python/extension/limited_python.hpp"

namespace kselect::python {

enum class element : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int32,
  int64,
  int8,
  uint8,
  uint16,
  uint32,
  other
};

constexpr std::int64_t size_of(element type) {
  switch (type) {
    case element::int8:
    case element::uint8:
      return 1;
    case element::float16:
    case element::bfloat16:
    case element::uint16:
      return 2;
    case element::float32:
    case element::int32:
    case element::uint32:
      return 4;
    default:
      return 8;
  }
}

class array {
 public:
  static constexpr int most_dimensions = 64;  // NumPy's limit

  array() = default;
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array();

  // `source`: an object with the buffer protocol, a capsule or a tensor, which must outlive this
  // object.
  // `name` is the argument's in messages. False: a Python exception is set.
  bool read(PyObject* source, const char* name, bool writable);

  void* data = nullptr;
  int dimensions = 0;
  // Strides are in elements. Only the first `dimensions` numbers are set: to clear the rest took
  // longer than the rest of a call's checks.
  std::array<std::int64_t, most_dimensions> shape, strides;
  element type = element::other;
  bool on_gpu = false;
  int gpu = 0;

  std::int64_t count() const;
  bool addressable() const;  // every element begins at a multiple of its size
  bool dense() const;        // addressable, row-major, without gaps

 private:
  bool read_buffer(PyObject* source, const char* name, bool writable);
  bool read_capsule(PyObject* source, const char* name, bool writable);
  bool take(const dlpack::tensor& found, const char* name);

  Py_buffer buffer_{};
  bool held_ = false;
  bool whole_strides_ = true;
};

}  // namespace kselect::python
