#pragma once
// A file mapped into memory, read-only. No copy is made, so an input may take more than half the
// memory.
//
// The size is taken once, at opening. Where another process cuts the file, the lost pages read as
// zeros instead of ending the program with SIGBUS, and require_unchanged() then fails. Whoever
// uses the bytes must call it before it gives an answer away.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/io/input_file.hpp"

namespace kselect::runtime {

class mapped_file {
 public:
  // Throws failure::input, which names the file, if it is missing, unreadable or not regular.
  static mapped_file open(const std::filesystem::path& file);

  // Also takes streams, which are read into memory (stream.hpp).
  static mapped_file open_or_collect(const std::filesystem::path& file, stream_content content);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  // The whole file, page-aligned; empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Throws failure::input if another process cut the file or wrote to it since it was opened.
  void require_unchanged() const;

  // The first file of this process that was cut while it was mapped; empty if none was.
  static std::string cut_file();

 private:
  explicit mapped_file(input_file file);

  input_file file_;
  std::span<const std::byte> bytes_;
  int guard_ = -1;  // the mapping's place in the table of the signal handler
};

// What to say of a file that was cut.
std::string cut_message(const std::string& file);

}  // namespace kselect::runtime
