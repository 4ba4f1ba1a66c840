#pragma once
// A file mapped into memory, read-only and without a copy: inputs may be larger than half the
// memory.
//
// The size is taken once, at opening. A file that another process truncates while it is mapped ends
// the program with SIGBUS when the lost pages are touched; inputs must not be rewritten in place.

#include <cstddef>
#include <filesystem>
#include <span>

namespace kselect::runtime {

class mapped_file {
 public:
  // Throws failure::input, naming the file, when it is missing, unreadable or no regular file.
  static mapped_file open(const std::filesystem::path& file);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  // The whole file; page-aligned, empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit mapped_file(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace kselect::runtime
