#pragma once
// The memory layout of DLPack's tensors, as far as it is read here. Source: DLPack 1.3, dlpack.h
// (github.com/dmlc/dlpack), whose ABI is stable within a major version.

#include <cstdint>

namespace kselect::python::dlpack {

enum device_kind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum type_code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4
};

struct device {
  std::int32_t kind;
  std::int32_t id;
};

struct data_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t dimensions;
  data_type type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: dense, row-major
  std::uint64_t byte_offset;
};

// What a capsule named "dltensor" points to begins with the tensor.
inline constexpr const char* unversioned_name = "dltensor";

// What a capsule named "dltensor_versioned" points to. A reader looks at the major version first.
inline constexpr const char* versioned_name = "dltensor_versioned";
inline constexpr std::uint32_t known_major = 1;
inline constexpr std::uint64_t read_only = 1;

struct versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(versioned*);
  std::uint64_t flags;
  dlpack::tensor tensor;
};

// Functions of an array library, which a capsule of this name points to. The library's type of
// arrays has it as __dlpack_c_exchange_api__. Each returns 0, or sets a Python exception.
inline constexpr const char* exchange_name = "dlpack_exchange_api";

struct exchange {
  std::uint32_t major, minor;
  const exchange* previous;
  void (*unused[3])();  // make arrays and take them over
  // A view that lives as long as the array. Null if the library has no such function.
  int (*view)(void* array, dlpack::tensor* out);
  // The stream on which the library works now.
  int (*current_stream)(device_kind kind, std::int32_t id, void** stream);
};

}  // namespace kselect::python::dlpack
