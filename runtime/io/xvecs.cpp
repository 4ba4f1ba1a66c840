// .fvecs, .bvecs, .ivecs: each record is a little-endian 32-bit dimension and its components.
//
// The format has no header and no count. Its only redundancy is the dimension in every record. So
// each is compared with the first. A file of another type, or a lost byte, then shows as a record
// with a wrong dimension.

#include <cstring>

#include <fmt/format.h>

#include "runtime/io/mapped_file.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t dimension_bytes = 4;

std::int32_t dimension_at(std::span<const std::byte> bytes, std::int64_t offset) {
  std::int32_t dimension = 0;
  std::memcpy(&dimension, bytes.data() + offset, sizeof dimension);
  return dimension;
}

class record_walk {
 public:
  record_walk(const std::filesystem::path& file, std::span<const std::byte> bytes,
              element_type type)
      : file_(file), bytes_(bytes) {
    if (bytes.empty()) return;
    require(0, dimension_bytes);
    dimension_ = dimension_at(bytes, 0);
    if (dimension_ <= 0) {
      fail_input(file, fmt::format("record 0 claims dimension {}; is it such a file?", dimension_));
    }
    stride_ = dimension_bytes + dimension_ * size_of(type);
  }

  std::int64_t dimension() const { return dimension_; }
  std::int64_t stride() const { return stride_; }

  // The number of whole records, at most `limit` (0: all). All of them are checked.
  std::int64_t count(std::int64_t limit) const {
    std::int64_t records = 0;
    for (; records * stride_ < std::ssize(bytes_) && (limit == 0 || records < limit); ++records) {
      require(records, dimension_bytes);
      const std::int32_t dimension = dimension_at(bytes_, records * stride_);
      if (dimension != dimension_) {
        fail_input(file_, fmt::format("record {} at byte {} has dimension {}, record 0 has {}",
                                      records, records * stride_, dimension, dimension_));
      }
      require(records, stride_);
    }
    return records;
  }

 private:
  // The record must have this many bytes before the file ends.
  void require(std::int64_t record, std::int64_t expected) const {
    const std::int64_t left = std::ssize(bytes_) - record * stride_;
    if (left >= expected) return;
    fail_input(file_, fmt::format("record {} at byte {} is truncated: needs {} bytes, has {}",
                                  record, record * stride_, expected, left));
  }

  const std::filesystem::path& file_;
  std::span<const std::byte> bytes_;
  std::int64_t dimension_ = 0;
  std::int64_t stride_ = 0;
};

}  // namespace

vector_set read_xvecs(const std::filesystem::path& file, element_type type, std::int64_t limit) {
  const mapped_file mapping = mapped_file::open(file);
  const record_walk records(file, mapping.bytes(), type);
  vector_set set = allocate_vectors(file, records.count(limit), records.dimension(), limit);
  const auto dimension = static_cast<std::size_t>(set.dimension);
  for (std::int64_t i = 0; i < set.count; ++i) {
    const std::byte* const components =
        mapping.bytes().data() + i * records.stride() + dimension_bytes;
    convert_elements(
        type, std::endian::little, components,
        std::span(set.data).subspan(static_cast<std::size_t>(i) * dimension, dimension));
  }
  mapping.require_unchanged();
  return set;
}

vector_layout xvecs_layout(const std::filesystem::path& file, element_type type) {
  const mapped_file mapping = mapped_file::open(file);
  const record_walk records(file, mapping.bytes(), type);
  vector_layout layout{.file = file,
                       .dimension = records.dimension(),
                       .type = type,
                       .stride = records.stride(),
                       .prefix = dimension_bytes};
  if (layout.stride == 0) return layout;
  layout.count = std::ssize(mapping.bytes()) / layout.stride;
  if (const std::int64_t rest = std::ssize(mapping.bytes()) % layout.stride; rest != 0) {
    fail_input(file, fmt::format("record {} at byte {} is truncated: needs {} bytes, has {}",
                                 layout.count, layout.count * layout.stride, layout.stride, rest));
  }
  return layout;
}

}  // namespace kselect::runtime
