#include "runtime/io/stream.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/available_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy_header.hpp"

namespace kselect::runtime {
namespace {

constexpr std::size_t stream_piece_bytes = 1 << 20;

// Closes a descriptor unless it is released.
class owned_descriptor {
 public:
  explicit owned_descriptor(int number) : number_(number) {}
  owned_descriptor(const owned_descriptor&) = delete;
  owned_descriptor& operator=(const owned_descriptor&) = delete;
  ~owned_descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

[[noreturn]] void fail(failure category, const std::string& name, std::string_view what) {
  throw error(category, fmt::format("{}: {}", name, what));
}

int open_input(const std::filesystem::path& name) {
  const int opened = name == "-" ? ::dup(STDIN_FILENO) : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    fail(failure::input, input_name(name), fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  return opened;
}

// A regular file that nothing was read from yet, as in `select - < rows.npy`, is used as it is.
bool is_whole_file(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         ::lseek(descriptor, 0, SEEK_CUR) == 0;
}

std::size_t read_piece(int from, std::span<std::byte> piece, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    fail(failure::input, name, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
}

// Returns 0 or the reason.
int write_all(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// How many bytes belong to the array, as soon as its header has come.
class expected_end {
 public:
  explicit expected_end(stream_content content) : known_(content == stream_content::text) {}

  // Takes the next bytes. Returns the end, or the greatest number while it is unknown.
  std::int64_t after(const std::string& name, std::span<const std::byte> piece) {
    if (!known_) {
      head_.insert(head_.end(), piece.begin(), piece.end());
      if (const auto bytes = npy_file_bytes(name, head_)) {
        end_ = *bytes;
        known_ = true;
        head_ = {};
      }
    }
    return end_;
  }

 private:
  bool known_;
  std::vector<std::byte> head_;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

[[noreturn]] void fail_too_large(const std::string& name, std::int64_t most) {
  fail(failure::resources, name,
       fmt::format("does not fit into the {} MiB of memory that are available; write it to a file "
                   "and name that",
                   most >> 20));
}

void copy_stream(int from, int to, stream_content content, const std::string& name) {
  const auto there = static_cast<std::int64_t>(available_memory());
  const std::int64_t most = there == 0 ? std::numeric_limits<std::int64_t>::max() : there;
  const auto piece = std::make_unique<std::array<std::byte, stream_piece_bytes>>();
  expected_end end(content);
  std::int64_t total = 0;
  for (;;) {
    const std::size_t got = read_piece(from, *piece, name);
    if (got == 0) return;
    const auto bytes = std::span(*piece).first(got);
    const std::int64_t whole = end.after(name, bytes);
    total += static_cast<std::int64_t>(got);
    const bool claims_more = whole != std::numeric_limits<std::int64_t>::max() && whole > most;
    if (claims_more || total > most) fail_too_large(name, most);
    if (write_all(to, bytes) != 0) fail_too_large(name, most);
    if (total > whole) return;  // the reader of the array says that there is more
  }
}

}  // namespace

bool is_stream(const std::filesystem::path& name) {
  const std::string& text = name.native();
  if (text == "-" || text == "/dev/stdin" || text == "/dev/stdout" ||
      text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/")) {
    return true;
  }
  struct stat status = {};
  return ::stat(name.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

std::string input_name(const std::filesystem::path& name) {
  return name == "-" ? "standard input" : name.string();
}

std::string output_name(const std::filesystem::path& name) {
  return name == "-" ? "standard output" : name.string();
}

int nameless_file() {
  const int descriptor = ::memfd_create("kselect", MFD_CLOEXEC);
  if (descriptor < 0) {
    throw error(failure::resources,
                fmt::format("no file can be made in memory: {}", std::strerror(errno)));
  }
  return descriptor;
}

int collect_stream(const std::filesystem::path& name, stream_content content) {
  owned_descriptor from(open_input(name));
  if (::isatty(from.get()) != 0) {
    fail(failure::usage, input_name(name), "is a terminal; pipe a file into it, or name a file");
  }
  if (is_whole_file(from.get())) return from.release();
  owned_descriptor to(nameless_file());
  copy_stream(from.get(), to.get(), content, input_name(name));
  return to.release();
}

void require_stream_output(const std::filesystem::path& name) {
  if (name == "-" && ::isatty(STDOUT_FILENO) != 0) {
    fail(failure::usage, output_name(name),
         "is a terminal; redirect it into a file or a pipe, or name a file");
  }
}

void pour_into_stream(int descriptor, const std::filesystem::path& name) {
  const owned_descriptor to(name == "-" ? ::dup(STDOUT_FILENO)
                                        : ::open(name.c_str(), O_WRONLY | O_CLOEXEC));
  int reason = to.get() < 0 ? errno : 0;
  std::vector<std::byte> piece(stream_piece_bytes);
  for (off_t at = 0; reason == 0;) {
    const ssize_t got = ::pread(descriptor, piece.data(), piece.size(), at);
    if (got == 0) return;
    reason = got < 0 ? errno
                     : write_all(to.get(), std::span(piece).first(static_cast<std::size_t>(got)));
    at += got;
  }
  fail(failure::output, output_name(name), fmt::format("cannot write: {}", std::strerror(reason)));
}

}  // namespace kselect::runtime
