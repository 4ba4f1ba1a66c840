#pragma once
// Arrays in NumPy's .npy format.
//
// A file is read by mapping it, so it may be larger than memory. It is written through atomic_file,
// so the target holds either its old content or the complete array.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/io/atomic_file.hpp"
#include "runtime/io/element.hpp"
#include "runtime/io/mapped_file.hpp"
#include "runtime/io/npy_header.hpp"

namespace kselect::runtime {

// A dense little-endian array in a mapped file.
class npy_file {
 public:
  // Throws failure::input with the file and the reason: missing, empty, truncated, not npy,
  // big-endian, unsupported dtype, impossible shape. Fortran order is not an error here.
  static npy_file open(const std::filesystem::path& file);
  // The same; "-" is standard input, which like a FIFO is read to its end into memory.
  static npy_file open_or_collect(const std::filesystem::path& file);

  element_type type() const { return header_.type; }
  const std::vector<std::int64_t>& shape() const { return header_.shape; }
  // NumPy's bool: uint8 of 0 and 1.
  bool is_boolean() const { return header_.boolean; }
  bool fortran_order() const { return header_.fortran_order; }
  // The elements, aligned to their type; readable as long as this object lives.
  const std::byte* data() const { return mapping_.bytes().data() + header_.data_offset; }
  std::int64_t bytes() const { return header_.data_bytes; }
  // Throws failure::input if the file changed since it was opened (mapped_file.hpp).
  void require_unchanged() const { mapping_.require_unchanged(); }

 private:
  npy_file(mapped_file mapping, npy_header header);

  mapped_file mapping_;
  npy_header header_;
};

// Writes an array in C order piece by piece, for results that come in blocks of rows. Without
// commit() the target stays unchanged. "-" is standard output; an array for it or for a FIFO is
// held in memory until commit(), and throws failure::resources if it does not fit. Throws
// failure::output with the reason, also if the shape's bytes do not fit 64 bits.
class npy_writer {
 public:
  npy_writer(const std::filesystem::path& file, element_type type,
             std::span<const std::int64_t> shape);

  // Writes the next elements. All calls together must write as many as the shape has.
  void append(std::span<const std::byte> elements);
  // Syncs the elements, as atomic_file::finish. Throws failure::output when some are missing.
  void finish();
  // Makes the file appear. Throws as finish().
  void commit();

 private:
  atomic_file file_;
  std::int64_t missing_bytes_;
};

// Writes the whole array at once. `elements` has the product of `shape` times size_of(type) bytes,
// in C order.
void write_npy(const std::filesystem::path& file, element_type type,
               std::span<const std::int64_t> shape, std::span<const std::byte> elements);

}  // namespace kselect::runtime
