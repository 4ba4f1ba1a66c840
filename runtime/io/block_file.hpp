#pragma once
// Prepared vectors (.kvec): a matrix as a search out of core reads it, again and again. Numbers are
// little-endian; offsets are in bytes.
//
//     0      header, one page: "kvec\0\r\n\x1a", version, element type, count, dimension, vectors
//     of
//            a block, and the XXH3 of these
//     4096   the vectors, row after row without gaps, of uint8, int8, float16 or float32
//            zeros up to the next page
//            the XXH3 of each block, then of that table, and "kvec end"
//
// A block is about a MiB, consists of whole vectors and, but for the last, of whole pages. So it
// can be read past the page cache, and what is read is checked against its hash each time. The
// table of hashes also stands for the content: ranks and resumed jobs compare it, where they would
// have to read other files from end to end.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/atomic_file.hpp"
#include "runtime/io/element.hpp"
#include "runtime/io/input_file.hpp"

namespace kselect::runtime {

inline constexpr std::string_view block_file_extension = ".kvec";
inline constexpr std::int64_t page_bytes = 4096;

struct block_shape {
  element_type type = element_type::float32;
  std::int64_t count = 0;
  std::int64_t dimension = 0;
  std::int64_t block_vectors = 0;

  std::int64_t stride() const { return dimension * size_of(type); }
  std::int64_t block_bytes() const { return block_vectors * stride(); }
  std::int64_t blocks() const { return (count + block_vectors - 1) / block_vectors; }
  // The first byte after the padding: of the table.
  std::int64_t table_offset() const;
  std::int64_t file_bytes() const;
};

// Throws error(failure::output) if the bytes of these vectors do not fit 64 bits.
block_shape shape_of_blocks(element_type type, std::int64_t count, std::int64_t dimension);

// Throws error(failure::output) on a file name with another extension.
void require_block_file_name(const std::filesystem::path& target);

// The blocks of an open file. Thread-safe.
class block_reader {
 public:
  // Checks header, size and table. Throws failure::input. The file must outlive this object's calls
  // that take it. `past_cache`: reads do not go through the page cache, where the file system can
  // do that.
  explicit block_reader(const input_file& file, bool past_cache);
  // The same, past the cache if the file would not stay in it.
  explicit block_reader(const input_file& file);
  block_reader(block_reader&&) = delete;
  ~block_reader();

  const block_shape& shape() const { return shape_; }
  bool past_cache() const { return direct_ >= 0; }
  // Of header and table: equal for equal vectors, types and blocks.
  std::string identity() const { return identity_; }
  // Bytes of memory that visit() allocates.
  std::int64_t buffer_bytes() const;
  // Calls `rows(first, bytes)` for the stored rows of [first, first + count), block by block.
  // Throws failure::input for a block that is not what was written.
  void visit(const input_file& file, std::int64_t first, std::int64_t count,
             const std::function<void(std::int64_t first, std::span<const std::byte>)>& rows) const;

 private:
  void read_table(const input_file& file, std::uint64_t header_hash);
  void read_block(const input_file& file, std::int64_t block, std::span<std::byte> buffer) const;

  block_shape shape_;
  std::vector<std::uint64_t> hashes_;  // of the blocks
  std::string identity_;
  int direct_ = -1;  // a descriptor of the same file, past the page cache
};

// Writes a file from its first row to its last.
class block_writer {
 public:
  // Throws failure::output, also on a file name with another extension, and if the file does not
  // fit on its disk.
  block_writer(const std::filesystem::path& target, const block_shape& shape);
  ~block_writer();

  // Whole rows, as stored.
  void append(std::span<const std::byte> rows);
  // Throws failure::output if rows are missing.
  void commit();

 private:
  struct hashing;
  void end_block();

  block_shape shape_;
  atomic_file file_;
  std::unique_ptr<hashing> block_;
  std::int64_t written_ = 0;   // bytes of rows
  std::int64_t in_block_ = 0;  // of them in the present block
  std::vector<std::uint64_t> hashes_;
};

}  // namespace kselect::runtime
