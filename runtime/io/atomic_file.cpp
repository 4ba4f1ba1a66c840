// Uses open(2) with O_EXCL. Files of mkstemp(3) are readable only by their owner, but the result
// should have the permissions of the user's umask.

#include "runtime/io/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::runtime {
namespace {

// How many names are tried. A name is taken only if a killed process with our id left its file.
constexpr int temporary_names = 1000;

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

void require_regular_target(const std::filesystem::path& target) {
  if (target == "-") {
    throw error(failure::usage, "-: standard output cannot take this; name a file");
  }
  std::error_code ignored;  // a target that cannot be examined fails later, with the reason
  const std::filesystem::path folder = directory_of(target);
  if (std::filesystem::status(folder, ignored).type() == std::filesystem::file_type::not_found) {
    throw error(failure::output, fmt::format("{}: there is no folder {}; make it, or name another",
                                             target.string(), folder.string()));
  }
  const auto existing = std::filesystem::status(target, ignored);
  if (!std::filesystem::exists(existing) || std::filesystem::is_regular_file(existing)) return;
  throw error(failure::output,
              fmt::format("{}: is not a regular file; name a file to write", target.string()));
}

atomic_file::atomic_file(std::filesystem::path target, stream_targets streams)
    : target_(std::move(target)),
      is_stream_(streams == stream_targets::allowed && is_stream(target_)) {
  if (is_stream_) {
    require_stream_output(target_);
    fd_ = nameless_file();
    return;
  }
  require_regular_target(target_);
  for (int attempt = 0; attempt < temporary_names && fd_ < 0; ++attempt) {
    const std::filesystem::path name =
        directory_of(target_) /
        fmt::format(".{}.{}.{}.tmp", target_.filename().string(), ::getpid(), attempt);
    fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) temporary_ = temporary_file(name);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail("create a file beside it", errno);
}

atomic_file::~atomic_file() {
  if (fd_ >= 0) ::close(fd_);
}

void atomic_file::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void atomic_file::finish() {
  if (fd_ < 0 || is_stream_) return;
  if (::fsync(fd_) != 0) fail("sync", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail("close", errno);
}

void atomic_file::commit() {
  finish();
  if (is_stream_) {
    pour_into_stream(fd_, target_);
    return;
  }
  if (::rename(temporary_.path().c_str(), target_.c_str()) != 0) fail("rename onto it", errno);
  temporary_.keep();
  sync_directory();
}

void atomic_file::sync_directory() const {
  const int directory = ::open(directory_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail("open the directory of", errno);
  const int reason = ::fsync(directory) == 0 ? 0 : errno;
  ::close(directory);
  // Some network file systems cannot sync directories. Then nothing more can be done.
  if (reason != 0 && reason != EINVAL && reason != ENOTSUP) fail("sync the directory of", reason);
}

void atomic_file::fail(const char* action, int reason) const {
  throw error(failure::output,
              fmt::format("{}: cannot {}: {}", target_.string(), action, std::strerror(reason)));
}

}  // namespace kselect::runtime
