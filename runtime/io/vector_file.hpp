#pragma once
// Vectors that stay in their file and are read piece by piece, so that a file may be larger than
// memory: every format of vectors.hpp, except compressed files.
//
// pread(2) reads into the caller's memory. A mapping would not do: its pages count as the process's
// own until the kernel takes them back, so no memory limit could be kept. Also, an input error on a
// mapping is a SIGBUS that names no file.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/io/block_file.hpp"
#include "runtime/io/input_file.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {

class vector_file {
 public:
  // `limit` as load_options::limit. Reads only the header. Throws failure::input, also for a
  // compressed file, which cannot be read from any offset.
  static vector_file open(const std::filesystem::path& file, std::int64_t limit = 0);

  const std::filesystem::path& path() const { return input_.path(); }
  std::int64_t count() const { return layout_.count; }
  std::int64_t dimension() const { return layout_.dimension; }
  // Bytes of one vector in the file.
  std::int64_t stride() const { return layout_.stride; }
  // The type of components in the file.
  element_type type() const { return layout_.type; }
  // Bytes of memory that read() allocates: none if the file holds dense float32, unless prepared.
  std::int64_t reading_bytes() const;
  // The hash of the file's bytes and the place of the vectors in it: equal for copies of a file,
  // and different for others. The first call reads the whole file (content_hashes.hpp), unless it
  // is of prepared vectors, which has its hashes.
  std::string fingerprint() const;
  // Throws failure::input if the file was written to or cut since it was opened.
  void require_unchanged() const { input_.require_unchanged(); }

  // Reads vectors `first` to `first + count` as float32 into `out`, [count][dimension].
  // Thread-safe. Allocates reading_bytes(). Throws failure::input for a component that is not
  // finite, a record of another dimension, a damaged block, and a file that cannot be read or has
  // shrunk.
  void read(std::int64_t first, std::int64_t count, float* out) const;

 private:
  explicit vector_file(input_file input);
  bool dense() const;
  void read_bytes(std::int64_t offset, std::span<std::byte> out) const;
  void read_blocks(std::int64_t first, std::int64_t count, float* out) const;
  void require_dimension(std::int64_t vector, const std::byte* prefix) const;
  void require_finite(std::int64_t first, std::span<const float> components) const;

  input_file input_;
  vector_layout layout_;
  std::shared_ptr<const block_reader> blocks_;  // of prepared vectors
};

// A corpus in one or several files, concatenated.
class vector_files {
 public:
  // `limit`: only the first `limit` vectors of the corpus; 0: all. Throws failure::input, also if
  // the dimensions differ, and failure::usage if no file is named.
  static vector_files open(const std::vector<std::filesystem::path>& files, std::int64_t limit = 0);

  std::int64_t count() const { return count_; }
  std::int64_t dimension() const { return dimension_; }
  // For messages: the first file "and N more".
  const std::string& name() const { return name_; }
  // int8 or uint8, if all files hold that.
  std::optional<element_type> byte_type() const;
  // Of each file, as vector_file::fingerprint.
  std::string fingerprint() const;
  void require_unchanged() const;
  // The largest of them.
  std::int64_t reading_bytes() const;
  // Bytes of these vectors in the files.
  std::int64_t bytes(std::int64_t first, std::int64_t count) const;
  // As vector_file::read.
  void read(std::int64_t first, std::int64_t count, float* out) const;

 private:
  // Calls visit(file, first in it, count, vectors before) for each part of the range.
  template <class Visit>
  void each_part(std::int64_t first, std::int64_t count, const Visit& visit) const;

  std::vector<vector_file> files_;
  std::vector<std::int64_t> begins_;  // index of each file's first vector in the corpus
  std::int64_t count_ = 0;
  std::int64_t dimension_ = 0;
  std::string name_;
};

}  // namespace kselect::runtime
