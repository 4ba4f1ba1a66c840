#pragma once
// An input: a regular file that is open for reading, and what it is known by. All readers open
// their files here.
//
// A file that is replaced, cut or written to while it is read would mix two inputs in one answer.
// So an input has an identity, which is compared when its reading ends, and a hash of all its
// bytes, which ranks compare and which a resumed job is held to.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "runtime/io/stream.hpp"

namespace kselect::runtime {

// Where a file is and when it last changed. Equal identities on one host mean equal content.
struct file_identity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0;
  std::int64_t written_ns = 0;  // last change of the content
  std::int64_t changed_ns = 0;  // last change of content or attributes; cannot be set at will

  // Of the file of that name; empty if there is none.
  static std::optional<file_identity> of(const std::filesystem::path& file);
  bool operator==(const file_identity&) const = default;
  // Whether the same content is at the same place: attributes may differ.
  bool same_content(const file_identity& other) const;
};

class input_file {
 public:
  // Throws failure::input, naming the file, if it is missing, unreadable or no regular file.
  static input_file open(const std::filesystem::path& file);
  // The same for a regular file. A stream is read to its end, once, into memory.
  static input_file open_or_collect(const std::filesystem::path& file, stream_content content);
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&& other) noexcept;
  ~input_file();

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // As it was when the file was opened.
  const file_identity& identity() const { return identity_; }

  // The bytes from `offset` on; thread-safe. Throws failure::input if the file cannot be read or
  // ends before.
  void read(std::int64_t offset, std::span<std::byte> out) const;
  // Throws failure::input if the file was written to or cut since it was opened.
  void require_unchanged() const;
  // The same, and if the file's name now stands for another file.
  void require_in_place() const;
  // 16 hexadecimal digits: XXH3 of all bytes. Reads the file once a process (content_hashes.hpp).
  std::string hash() const;

 private:
  input_file(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_;
  file_identity identity_;
};

}  // namespace kselect::runtime
