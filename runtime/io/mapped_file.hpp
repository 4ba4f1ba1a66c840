#pragma once
// A file mapped into memory, read-only. No copy is made, so an input may take more than half the
// memory.
//
// The size is read once, when the file is opened. If another process truncates the file later, the
// program ends with SIGBUS when it touches the lost pages. So do not rewrite inputs in place.

#include <cstddef>
#include <filesystem>
#include <span>

namespace kselect::runtime {

class mapped_file {
 public:
  // Throws failure::input, which names the file, if it is missing, unreadable or not regular.
  static mapped_file open(const std::filesystem::path& file);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  // The whole file, page-aligned; empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit mapped_file(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace kselect::runtime
