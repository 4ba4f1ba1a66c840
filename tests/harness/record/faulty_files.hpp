#pragma once
// Helpers of the record tests: numbered records of very different lengths, and a
// file system on which a chosen system call fails.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "harness/record/journal.hpp"
#include "tests/harness/scratch_directory.hpp"

namespace kselect::harness {

inline std::string record(int number) {
  const auto padding = static_cast<std::size_t>(number * number % 47);
  return R"({"schema":1,"number":)" + std::to_string(number) + R"(,"text":"\n\u00e9 é)" +
         std::string(padding, 'x') + "\"}";
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spew(const std::filesystem::path& path, std::string_view text) {
  // Some file systems flush at once when a file's content is replaced, which is slow.
  std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary);
  out << text;
  EXPECT_TRUE(out.flush()) << path;
}

// Does not sync: only a power failure would show it, and thousands of syncs take minutes.
class unsynced_files : public file_system {
 public:
  int fsync(int) override { return 0; }
  int fdatasync(int) override { return 0; }
};

// Every file it opens holds `text`, which saves writing a file for each read.
class file_in_memory : public file_system {
 public:
  std::string text;
  int open(const char*, int, mode_t) override {
    position_ = 0;
    return 0;
  }
  ssize_t read(int, void* buffer, std::size_t size) override {
    const std::size_t copied = text.copy(static_cast<char*>(buffer), size, position_);
    position_ += copied;
    return static_cast<ssize_t>(copied);
  }
  int close(int) override { return 0; }

 private:
  std::size_t position_ = 0;
};

// The bytes of a journal with the first `count` records.
inline std::string journal_text(int count) {
  const scratch_directory scratch;
  unsynced_files files;
  journal writer = journal::open(scratch.path(), open_mode::create_new, files);
  for (int i = 0; i < count; ++i) writer.append(record(i));
  return slurp(scratch / journal_name);
}

// The number of records; fails unless they are record(0), record(1), ... in order.
inline int prefix_length(std::span<const record_line> records) {
  int count = 0;
  for (const record_line& found : records) {
    EXPECT_EQ(found.text, record(count));
    EXPECT_EQ(found.line, count + 1);
    ++count;
  }
  return count;
}

// Does all system calls, but fails in call number `fail_at` (from 1) of those that `fails` selects.
class faulty_files : public unsynced_files {
 public:
  enum class fault {
    once,          // that call fails with `code` and does nothing
    from_then_on,  // that call and all later ones fail: the device is gone
    killed         // the process dies instead of making that call
  };
  int fail_at = 0;
  int code = EIO;
  fault kind = fault::once;
  // If that call is a write, it first writes a part; then it succeeds, or fails with `code`.
  bool short_write = false;
  int calls = 0;
  std::string trace;  // the names of the calls, each followed by a blank
  bool struck = false;

  int open(const char* path, int flags, mode_t mode) override {
    return strikes("open") ? -1 : file_system::open(path, flags, mode);
  }
  ssize_t read(int descriptor, void* buffer, std::size_t size) override {
    return strikes("read") ? -1 : file_system::read(descriptor, buffer, size);
  }
  ssize_t write(int descriptor, const void* buffer, std::size_t size) override {
    if (strikes_half_of(size)) return file_system::write(descriptor, buffer, size / 2);
    return strikes("write") ? -1 : file_system::write(descriptor, buffer, size);
  }
  int fsync(int descriptor) override {
    return strikes("fsync") ? -1 : unsynced_files::fsync(descriptor);
  }
  int fdatasync(int descriptor) override {
    return strikes("fdatasync") ? -1 : unsynced_files::fdatasync(descriptor);
  }
  int ftruncate(int descriptor, off_t size) override {
    return strikes("ftruncate") ? -1 : file_system::ftruncate(descriptor, size);
  }
  int fallocate(int descriptor, int mode, off_t offset, off_t size) override {
    return strikes("fallocate") ? -1 : file_system::fallocate(descriptor, mode, offset, size);
  }
  int flock(int descriptor, int operation) override {
    return strikes("flock") ? -1 : file_system::flock(descriptor, operation);
  }
  int close(int descriptor) override {
    const bool failed = strikes("close");  // Linux frees the descriptor even if close() fails
    const int code_of_failure = errno;
    const int result = file_system::close(descriptor);
    if (!failed) return result;
    errno = code_of_failure;
    return -1;
  }
  int mkdir(const char* path, mode_t mode) override {
    return strikes_name("mkdir") ? -1 : file_system::mkdir(path, mode);
  }
  int rename(const char* from, const char* to) override {
    return strikes_name("rename") ? -1 : file_system::rename(from, to);
  }

 private:
  bool strikes_half_of(std::size_t size) {
    const std::scoped_lock alone(guard_);
    if (!short_write || calls + 1 != fail_at || size <= 1) return false;
    ++calls;
    struck = true;
    if (code != 0) ++fail_at;
    return true;
  }
  bool strikes(std::string_view name) {
    const std::scoped_lock alone(guard_);
    ++calls;
    trace.append(name) += ' ';
    const bool after = kind == fault::from_then_on && fail_at > 0 && calls > fail_at;
    const bool now = calls == fail_at || after;
    if (!now || code == 0) return false;
    if (kind == fault::killed) raise(SIGKILL);
    struck = true;
    errno = code;
    return true;
  }
  // Signals do not interrupt calls that take a path.
  bool strikes_name(std::string_view name) { return code == EINTR ? false : strikes(name); }

  std::mutex guard_;  // several threads may write
};

}  // namespace kselect::harness
