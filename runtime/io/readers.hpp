#pragma once
// The readers behind load_vectors, one a format, and their shared functions. Each reader checks
// that the file is consistent and returns its first `limit` vectors (0: all), without source and
// hash.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/element.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::runtime {

enum class compression : std::uint8_t { none, gzip };

// Components of `type`: float32 for .fvecs, uint8 for .bvecs, int32 for .ivecs.
vector_set read_xvecs(const std::filesystem::path& file, element_type type, std::int64_t limit);
vector_set read_idx(const std::filesystem::path& file, compression packed, std::int64_t limit);
vector_set read_hdf5(const std::filesystem::path& file, const std::string& dataset,
                     std::int64_t limit);

// Where the vectors of a file lie that can be read piece by piece. Offsets are in bytes from the
// start of the file.
struct vector_layout {
  std::filesystem::path file;
  std::int64_t count = 0;
  std::int64_t dimension = 0;
  element_type type = element_type::float32;
  std::endian order = std::endian::little;
  std::int64_t offset = 0;  // of the first vector, with its prefix
  std::int64_t stride = 0;  // from vector to vector
  std::int64_t prefix = 0;  // 4 where each vector begins with its dimension (int32), else 0
  bool in_blocks = false;   // prepared vectors, which block_reader reads

  std::int64_t vector_bytes() const { return stride - prefix; }
};

// The layout of all vectors of a file, checked against the file's size; only headers are read.
// `name` is a file, or FILE.hdf5[:DATASET]. Throws failure::input, also for a compressed file.
vector_layout layout_of(const std::filesystem::path& name);
vector_layout idx_layout(const std::filesystem::path& file);
vector_layout hdf5_layout(const std::filesystem::path& file, const std::string& dataset);
vector_layout xvecs_layout(const std::filesystem::path& file, element_type type);

// Throws failure::input: "<file>: <problem>".
[[noreturn]] void fail_input(const std::filesystem::path& file, std::string_view problem);

// A zeroed set of `available` vectors, or of `limit` if that is less and not 0. Throws
// failure::input for vectors without components, and failure::resources if memory runs out. The
// caller has checked that the file can hold `available` x `dimension` components.
vector_set allocate_vectors(const std::filesystem::path& file, std::int64_t available,
                            std::int64_t dimension, std::int64_t limit);

// One byte of deflate expands to at most this many (zlib's technical notes).
inline constexpr std::int64_t max_deflate_ratio = 1032;

// Inflates a gzip file from its first byte to its last.
class gzip_reader {
 public:
  // `compressed` is the whole file and must outlive the reader.
  gzip_reader(const std::filesystem::path& file, std::span<const std::byte> compressed);
  gzip_reader(const gzip_reader&) = delete;
  gzip_reader& operator=(const gzip_reader&) = delete;
  ~gzip_reader();

  // Inflates into `out` until it is full or the file ends. Returns the number of bytes written.
  // Throws failure::input if the file is damaged or truncated.
  std::size_t read(std::span<std::byte> out);
  // Skips up to `bytes` bytes of inflated data. Returns how many there were.
  std::int64_t skip(std::int64_t bytes);

 private:
  struct state;
  std::size_t step(std::span<std::byte> out);

  const std::filesystem::path& file_;
  std::span<const std::byte> rest_;
  std::unique_ptr<state> state_;
  bool finished_ = false;
};

// The first `at_most` bytes of a gzip file, inflated; fewer if it ends before. If `at_most` exceeds
// the inflated size, the checksums are checked too. Throws failure::input if the file is damaged or
// truncated before.
std::vector<std::byte> gunzip(const std::filesystem::path& file,
                              std::span<const std::byte> compressed, std::int64_t at_most);

}  // namespace kselect::runtime
