// The idx format of the MNIST files, plain or compressed by gzip: two zero bytes, a type code, the
// rank, the extents as 32-bit numbers, then the elements. All numbers are big-endian. The first
// extent is the number of vectors, the product of the others is their dimension.

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/io/mapped_file.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t extents_offset = 4;
constexpr std::int64_t max_header_bytes = extents_offset + 4 * 255;
constexpr std::int64_t inflated_piece = 1 << 20;  // inflated at a time

struct idx_header {
  element_type type = element_type::uint8;
  std::vector<std::int64_t> shape;
  std::int64_t header_bytes = 0;
  std::int64_t data_bytes = 0;

  // The product of all extents but the first. It does not overflow, because data_bytes did not.
  std::int64_t dimension() const {
    return *dense_bytes(element_type::uint8, std::span(shape).subspan(1));
  }
};

std::optional<element_type> type_of(std::byte code) {
  switch (static_cast<unsigned char>(code)) {
    case 0x08:
      return element_type::uint8;
    case 0x09:
      return element_type::int8;
    case 0x0B:
      return element_type::int16;
    case 0x0C:
      return element_type::int32;
    case 0x0D:
      return element_type::float32;
    case 0x0E:
      return element_type::float64;
    default:
      return std::nullopt;
  }
}

idx_header parse_header(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  if (std::ssize(bytes) < extents_offset) fail_input(file, "is too short for an idx header");
  const auto type = type_of(bytes[2]);
  if (bytes[0] != std::byte{0} || bytes[1] != std::byte{0} || !type) {
    fail_input(file, "is not an idx file: its first bytes are not 0, 0 and a known type code");
  }
  idx_header header{.type = *type, .shape = {}};
  const auto rank = static_cast<std::int64_t>(bytes[3]);
  header.header_bytes = extents_offset + 4 * rank;
  if (rank < 2) {
    fail_input(file, fmt::format("has rank {}; vectors need 2 or more (labels have 1)", rank));
  }
  if (std::ssize(bytes) < header.header_bytes) fail_input(file, "ends within its idx header");
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    std::int64_t extent = 0;
    for (const std::byte b : bytes.subspan(static_cast<std::size_t>(4 + 4 * axis), 4)) {
      extent = extent << 8 | static_cast<std::int64_t>(b);
    }
    header.shape.push_back(extent);
  }
  const auto data_bytes = dense_bytes(header.type, header.shape);
  if (!data_bytes) {
    fail_input(file, fmt::format("claims the absurd shape ({}): its bytes do not fit 64 bits",
                                 fmt::join(header.shape, ", ")));
  }
  header.data_bytes = *data_bytes;
  return header;
}

// The bytes of the file. A compressed file is inflated into memory.
class idx_bytes {
 public:
  idx_bytes(const std::filesystem::path& file, compression packed)
      : file_(file), mapping_(mapped_file::open(file)), packed_(packed) {}

  // The first bytes: the longest header's length, or less if the file is shorter.
  std::vector<std::byte> head() const {
    const auto stored = mapping_.bytes();
    if (packed_ == compression::gzip) return gunzip(file_, stored, max_header_bytes);
    const auto size = std::min(max_header_bytes, std::ssize(stored));
    return {stored.begin(), stored.begin() + size};
  }

  // The file's length, but at most `at_most`. A compressed file is inflated, and dropped.
  std::int64_t length(std::int64_t at_most) const {
    if (packed_ == compression::none) return std::min(at_most, std::ssize(mapping_.bytes()));
    return gzip_reader(file_, mapping_.bytes()).skip(at_most);
  }

  // An upper bound of the file's bytes, uncompressed.
  std::int64_t capacity() const {
    const std::int64_t stored = std::ssize(mapping_.bytes());
    return packed_ == compression::none ? stored : stored * max_deflate_ratio;
  }

  // The elements from `offset` on, as many as `out` takes, which the file has.
  void elements(element_type type, std::int64_t offset, std::span<float> out) const {
    const auto stored = mapping_.bytes();
    if (packed_ == compression::none) {
      return convert_elements(type, std::endian::big, stored.data() + offset, out);
    }
    gzip_reader inflated(file_, stored);
    inflated.skip(offset);
    const auto at_once = static_cast<std::size_t>(inflated_piece / size_of(type));
    std::vector<std::byte> piece(at_once * static_cast<std::size_t>(size_of(type)));
    for (std::size_t done = 0; done < out.size(); done += at_once) {
      const std::size_t now = std::min(at_once, out.size() - done);
      const auto bytes = std::span(piece).first(now * static_cast<std::size_t>(size_of(type)));
      if (inflated.read(bytes) != bytes.size()) fail_input(file_, "changed while it was read");
      convert_elements(type, std::endian::big, bytes.data(), out.subspan(done, now));
    }
  }

  void require_unchanged() const { mapping_.require_unchanged(); }

 private:
  const std::filesystem::path& file_;
  mapped_file mapping_;
  compression packed_;
};

}  // namespace

vector_set read_idx(const std::filesystem::path& file, compression packed, std::int64_t limit) {
  const idx_bytes source(file, packed);
  const idx_header header = parse_header(file, source.head());
  const auto truncated = [&](const char* relation, std::int64_t found) {
    fail_input(file,
               fmt::format("is truncated: shape ({}) of {} needs {} bytes of data, it has {}{}",
                           fmt::join(header.shape, ", "), to_string(header.type), header.data_bytes,
                           relation, found));
  };
  const std::int64_t room = source.capacity() - header.header_bytes;
  if (header.data_bytes > room) truncated(packed == compression::none ? "" : "at most ", room);

  const std::int64_t vectors = limit == 0 ? header.shape[0] : std::min(limit, header.shape[0]);
  const std::int64_t wanted = vectors * header.dimension() * size_of(header.type);
  // Asking for one byte more than the data finds trailing bytes and a wrong checksum. The length is
  // measured before memory is taken, because a header can claim any size.
  const bool whole = wanted == header.data_bytes;
  const std::int64_t found =
      source.length(header.header_bytes + wanted + (whole ? 1 : 0)) - header.header_bytes;
  if (found < wanted) truncated("", found);
  if (found > wanted) fail_input(file, "has bytes after the data its header tells of");
  vector_set set = allocate_vectors(file, header.shape[0], header.dimension(), limit);
  source.elements(header.type, header.header_bytes, set.data);
  source.require_unchanged();
  return set;
}

vector_layout idx_layout(const std::filesystem::path& file) {
  const idx_bytes source(file, compression::none);
  const idx_header header = parse_header(file, source.head());
  const std::int64_t found = source.capacity() - header.header_bytes;
  if (found != header.data_bytes) {
    fail_input(file, fmt::format("has {} bytes of data, but its shape ({}) of {} needs {}", found,
                                 fmt::join(header.shape, ", "), to_string(header.type),
                                 header.data_bytes));
  }
  return {.file = file,
          .count = header.shape[0],
          .dimension = header.dimension(),
          .type = header.type,
          .order = std::endian::big,
          .offset = header.header_bytes,
          .stride = header.dimension() * size_of(header.type)};
}

}  // namespace kselect::runtime
