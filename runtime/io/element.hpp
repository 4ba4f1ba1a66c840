#pragma once
// The element types of arrays in files, and their conversion to float32.
//
// Each reader parses its format's header. After the header, every format has numbers of one of
// these types in one byte order. A header may be wrong, so this file checks for all formats that an
// array's byte count fits 64 bits.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kselect/names.hpp"

namespace kselect::runtime {

static_assert(std::endian::native == std::endian::little,
              "npy and xvecs files are mapped as they are: the host must be little-endian");

enum class element_type : std::uint8_t {
  int8,
  uint8,
  int16,
  int32,
  uint32,
  int64,
  float16,
  float32,
  float64
};

constexpr auto names_of(element_type) {
  return std::to_array<named<element_type>>({{element_type::int8, "int8"},
                                             {element_type::uint8, "uint8"},
                                             {element_type::int16, "int16"},
                                             {element_type::int32, "int32"},
                                             {element_type::uint32, "uint32"},
                                             {element_type::int64, "int64"},
                                             {element_type::float16, "float16"},
                                             {element_type::float32, "float32"},
                                             {element_type::float64, "float64"}});
}

constexpr std::int64_t size_of(element_type type) {
  switch (type) {
    case element_type::int8:
    case element_type::uint8:
      return 1;
    case element_type::int16:
    case element_type::float16:
      return 2;
    case element_type::int32:
    case element_type::uint32:
    case element_type::float32:
      return 4;
    case element_type::int64:
    case element_type::float64:
      break;
  }
  return 8;
}

// Bytes of a dense array. Empty if an extent is negative, or if the product of the extents other
// than 0 does not fit 64 bits: other code multiplies some of the extents.
std::optional<std::int64_t> dense_bytes(element_type type, std::span<const std::int64_t> shape);

// Converts out.size() elements at `in` (any alignment) to the nearest float32. An integer beyond
// 2^24 may lose its last digits. A float64 beyond the range becomes infinite.
void convert_elements(element_type type, std::endian order, const std::byte* in,
                      std::span<float> out);

}  // namespace kselect::runtime
