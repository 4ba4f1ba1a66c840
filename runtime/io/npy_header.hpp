#pragma once
// The header of a NumPy .npy file: magic, version, and a Python dict literal with three keys.
//
//     \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// Our own reader and writer, because Debian packages no npy library for C++. It reads what
// numpy.lib.format writes in versions 1, 2 and 3, not all of Python. The versions differ in the
// width of the length, and in the encoding of field names, which arrays of numbers do not have.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/element.hpp"

namespace kselect::runtime {

struct npy_header {
  element_type type = element_type::float32;
  bool boolean = false;        // the bytes are 0 or 1: NumPy's bool, whose type is uint8 here
  bool fortran_order = false;  // the first index varies fastest
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  // bytes from the start of the file
  std::int64_t data_bytes = 0;
};

// Parses and checks the header of `file`; `bytes` is the whole file. On return the data lie within
// the file, end at its end and are aligned to their type. Throws failure::input.
npy_header parse_npy_header(const std::filesystem::path& file, std::span<const std::byte> bytes);

// How many bytes the whole file has, header and data, from its first bytes; empty if they do not
// hold all of the header. Throws failure::input if they are no header of an npy file.
std::optional<std::int64_t> npy_file_bytes(const std::filesystem::path& file,
                                           std::span<const std::byte> first);

// The header that NumPy writes for a little-endian array in C order, padded to 64 bytes.
std::string format_npy_header(element_type type, std::span<const std::int64_t> shape);

}  // namespace kselect::runtime
