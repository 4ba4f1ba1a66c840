#include "runtime/io/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/io/content_hashes.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int reason) {
  fail_input(file, fmt::format("cannot be read: {}", std::strerror(reason)));
}

std::int64_t nanoseconds(const timespec& t) {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

file_identity identity_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = status.st_size,
          .written_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

}  // namespace

std::optional<file_identity> file_identity::of(const std::filesystem::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return identity_of(status);
}

bool file_identity::same_content(const file_identity& other) const {
  return device == other.device && inode == other.inode && bytes == other.bytes &&
         written_ns == other.written_ns;
}

input_file::input_file(std::filesystem::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

input_file input_file::open(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang; on regular files it means nothing.
  input_file opened(file, ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (opened.descriptor_ < 0 || ::fstat(opened.descriptor_, &status) != 0) fail(file, errno);
  if (!S_ISREG(status.st_mode)) {
    fail_input(file, S_ISDIR(status.st_mode)
                         ? "is not a regular file but a folder; name a file"
                         : "is not a regular file; inputs are read more than once, so copy a pipe "
                           "or device to a file first");
  }
  opened.identity_ = identity_of(status);
  return opened;
}

input_file input_file::open_or_collect(const std::filesystem::path& file, stream_content content) {
  if (!is_stream(file)) return open(file);
  input_file collected(input_name(file), collect_stream(file, content));
  struct stat status = {};
  if (::fstat(collected.descriptor_, &status) != 0) fail(collected.path_, errno);
  collected.identity_ = identity_of(status);
  return collected;
}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      identity_(other.identity_) {}

input_file& input_file::operator=(input_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  return *this;
}

input_file::~input_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void input_file::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      fail_input(path_, fmt::format("cannot be read at byte {}: {}", offset, std::strerror(errno)));
    }
    if (got == 0) fail_input(path_, fmt::format("has shrunk: it now ends at byte {}", offset));
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void input_file::require_unchanged() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail(path_, errno);
  if (identity_.same_content(identity_of(status))) return;
  fail_input(path_, fmt::format("changed while it was read (from {} bytes to {}); run again when "
                                "nothing writes to it",
                                identity_.bytes, status.st_size));
}

void input_file::require_in_place() const {
  require_unchanged();
  const auto now = file_identity::of(path_);
  if (now && identity_.same_content(*now)) return;
  fail_input(path_, "was replaced while it was opened; run again when nothing writes to it");
}

std::string input_file::hash() const { return content_hashes::of(*this); }

}  // namespace kselect::runtime
