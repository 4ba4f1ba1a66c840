// Uses open(2) with O_EXCL. Files of mkstemp(3) are readable only by their owner, but the result
// should have the permissions of the user's umask.

#include "runtime/io/atomic_file.hpp"

#include <algorithm>
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
constexpr int most_links = 40;  // as many as Linux follows

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

std::filesystem::path behind_links(const std::filesystem::path& name) {
  std::filesystem::path at = name;
  std::error_code unread;
  for (int links = 0; links < most_links; ++links) {
    const std::filesystem::path to = std::filesystem::read_symlink(at, unread);
    if (unread) break;
    at = at.parent_path() / to;  // `to` alone if it is absolute
  }
  return at;
}

void require_regular_target(const std::filesystem::path& target) {
  if (target == "-") {
    throw error(failure::usage, "-: standard output cannot take this; name a file");
  }
  std::error_code ignored;  // a target that cannot be examined fails later, with the reason
  const std::filesystem::path place = behind_links(target);
  const std::filesystem::path folder = directory_of(place);
  if (std::filesystem::status(folder, ignored).type() == std::filesystem::file_type::not_found) {
    throw error(failure::output, fmt::format("{}: there is no folder {}; make it, or name another",
                                             target.string(), folder.string()));
  }
  const auto existing = std::filesystem::status(target, ignored);
  const bool in_a_circle = std::filesystem::is_symlink(place, ignored);
  if (!in_a_circle &&
      (!std::filesystem::exists(existing) || std::filesystem::is_regular_file(existing))) {
    return;
  }
  throw error(failure::output,
              fmt::format("{}: is not a regular file; name a file to write", target.string()));
}

void require_free_space(const std::filesystem::path& target, std::int64_t bytes,
                        std::int64_t promised) {
  std::error_code unknown;
  const auto space = std::filesystem::space(directory_of(behind_links(target)), unknown);
  const auto taken = static_cast<std::uint64_t>(promised);
  const std::uint64_t free = space.available - std::min<std::uint64_t>(taken, space.available);
  if (unknown || static_cast<std::uint64_t>(bytes) <= free) return;
  throw error(failure::output,
              fmt::format("{}: its {} MiB do not fit into the {} MiB that {} free there; name a "
                          "file on another disk, or write less",
                          target.string(), bytes >> 20, free >> 20,
                          promised == 0 ? "are" : "the other output leaves"));
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
  place_ = behind_links(target_);
  for (int attempt = 0; attempt < temporary_names && fd_ < 0; ++attempt) {
    const std::filesystem::path name =
        directory_of(place_) /
        fmt::format(".{}.{}.{}.tmp", place_.filename().string(), ::getpid(), attempt);
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
  if (::rename(temporary_.path().c_str(), place_.c_str()) != 0) fail("rename onto it", errno);
  temporary_.keep();
  sync_directory();
}

void atomic_file::sync_directory() const {
  const int directory = ::open(directory_of(place_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
