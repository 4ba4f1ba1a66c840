// The shape is known, so the header is written before the first row. The writer then only counts
// the missing bytes.

#include "runtime/io/npy.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/available_memory.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

std::int64_t checked_bytes(const std::filesystem::path& file, element_type type,
                           std::span<const std::int64_t> shape) {
  const auto bytes = dense_bytes(type, shape);
  if (!bytes) {
    throw error(failure::output,
                fmt::format("{}: the shape to write does not fit 64 bits", file.string()));
  }
  return *bytes;
}

// A stream is kept in memory.
void require_space(const std::filesystem::path& file, std::int64_t bytes) {
  if (!is_stream(file)) return require_free_space(file, bytes);
  const auto there = static_cast<std::int64_t>(available_memory());
  if (there == 0 || bytes <= there) return;
  throw error(failure::resources, fmt::format("{}: its {} MiB do not fit into memory; name a file",
                                              output_name(file), bytes >> 20));
}

}  // namespace

npy_file::npy_file(mapped_file mapping, npy_header header)
    : mapping_(std::move(mapping)), header_(std::move(header)) {}

npy_file npy_file::open(const std::filesystem::path& file) {
  mapped_file mapping = mapped_file::open(file);
  npy_header header = parse_npy_header(file, mapping.bytes());
  return {std::move(mapping), std::move(header)};
}

npy_file npy_file::open_or_collect(const std::filesystem::path& file) {
  mapped_file mapping = mapped_file::open_or_collect(file, stream_content::npy);
  npy_header header = parse_npy_header(input_name(file), mapping.bytes());
  return {std::move(mapping), std::move(header)};
}

npy_writer::npy_writer(const std::filesystem::path& file, element_type type,
                       std::span<const std::int64_t> shape)
    : file_(file, stream_targets::allowed), missing_bytes_(checked_bytes(file, type, shape)) {
  require_space(file, missing_bytes_);
  const std::string header = format_npy_header(type, shape);
  file_.write(std::as_bytes(std::span(header)));
}

void npy_writer::append(std::span<const std::byte> elements) {
  if (std::ssize(elements) > missing_bytes_) {
    throw error(failure::output,
                fmt::format("{}: {} bytes more than its shape holds", file_.target().string(),
                            std::ssize(elements) - missing_bytes_));
  }
  file_.write(elements);
  missing_bytes_ -= std::ssize(elements);
}

void npy_writer::finish() {
  if (missing_bytes_ != 0) {
    throw error(failure::output, fmt::format("{}: {} bytes of its shape were never written",
                                             file_.target().string(), missing_bytes_));
  }
  file_.finish();
}

void npy_writer::commit() {
  finish();
  file_.commit();
}

void write_npy(const std::filesystem::path& file, element_type type,
               std::span<const std::int64_t> shape, std::span<const std::byte> elements) {
  npy_writer writer(file, type, shape);
  writer.append(elements);
  writer.commit();
}

}  // namespace kselect::runtime
