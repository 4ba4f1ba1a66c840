// Checked POSIX file operations. Durability has three steps that are easily forgotten: syncing the
// file before it is renamed, syncing its directory after, and checking close(), where network file
// systems report a full disk.

#include "harness/record/file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/io/atomic_file.hpp"

namespace kselect::harness {

int file_system::open(const char* path, int flags, mode_t mode) {
  return ::open(path, flags, mode);
}
ssize_t file_system::read(int descriptor, void* buffer, std::size_t size) {
  return ::read(descriptor, buffer, size);
}
ssize_t file_system::write(int descriptor, const void* buffer, std::size_t size) {
  return ::write(descriptor, buffer, size);
}
int file_system::fsync(int descriptor) { return ::fsync(descriptor); }
int file_system::fdatasync(int descriptor) { return ::fdatasync(descriptor); }
int file_system::ftruncate(int descriptor, off_t size) { return ::ftruncate(descriptor, size); }
int file_system::fallocate(int descriptor, int mode, off_t offset, off_t size) {
  return ::fallocate(descriptor, mode, offset, size);
}
int file_system::flock(int descriptor, int operation) { return ::flock(descriptor, operation); }
int file_system::close(int descriptor) { return ::close(descriptor); }
int file_system::mkdir(const char* path, mode_t mode) { return ::mkdir(path, mode); }
int file_system::rename(const char* from, const char* to) { return ::rename(from, to); }

file_system& system_files() {
  static file_system files;
  return files;
}

namespace {

const char* advice(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space and run again";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f) and run again";
    case EROFS:
    case EACCES:
    case EPERM:
      return "get permission, or choose another place";
    case ENOENT:
    case ENOTDIR:
    case EEXIST:
    case EISDIR:
      return "check the path, or choose another";
    default:
      return "check the disk and the system log, then run again";
  }
}

[[noreturn]] void fail_at(failure category, const std::filesystem::path& path,
                          std::string_view action, int code) {
  throw error(category, fmt::format("{}: cannot {}: {}; {}", path.string(), action,
                                    std::generic_category().message(code), advice(code)));
}

// Repeats a call that a signal interrupted.
template <class F>
auto uninterrupted(F&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// The process that wrote a temporary file of meta.json, the one snapshot in a run's directory, from
// the file's name. Other files may belong to anybody.
std::optional<pid_t> writer_of(std::string_view name) {
  constexpr std::string_view begin = ".meta.json.tmp.";
  if (!name.starts_with(begin)) return std::nullopt;
  const std::string_view digits = name.substr(begin.size());
  pid_t writer = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, writer);
  if (code != std::errc{} || stop != end || writer <= 0) return std::nullopt;
  return writer;
}

}  // namespace

file::file(const std::filesystem::path& path, int flags, failure category, file_system& files)
    : files_(&files), path_(path), category_(category), descriptor_(-1) {
  // Opening a FIFO would wait for its other end.
  std::error_code unknown;
  const auto there = std::filesystem::status(path_, unknown);
  if (std::filesystem::is_fifo(there)) {
    throw error(category_, fmt::format("{}: is not a regular file; move it away, or choose another "
                                       "place",
                                       path_.string()));
  }
  descriptor_ = uninterrupted([&] { return files_->open(path_.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail("open", errno);
}

file::file(file&& other) noexcept
    : files_(other.files_),
      path_(std::move(other.path_)),
      category_(other.category_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

file::~file() {
  if (descriptor_ >= 0) files_->close(descriptor_);
}

std::string file::read_all() {
  std::string text;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t size =
        uninterrupted([&] { return files_->read(descriptor_, chunk.data(), chunk.size()); });
    if (size < 0) fail("read", errno);
    if (size == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

void file::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size =
        uninterrupted([&] { return files_->write(descriptor_, text.data(), text.size()); });
    // A write of 0 bytes makes no progress and sets no errno.
    if (size <= 0) fail("write", size == 0 ? EIO : errno);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void file::reserve(std::int64_t bytes) {
  const int failed =
      uninterrupted([&] { return files_->fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes); });
  const bool possible = errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL;
  if (failed < 0 && possible) fail("set space aside", errno);
}

void file::truncate(std::int64_t bytes) {
  if (uninterrupted([&] { return files_->ftruncate(descriptor_, bytes); }) < 0) {
    fail("truncate", errno);
  }
}

void file::sync_data() {
  if (uninterrupted([&] { return files_->fdatasync(descriptor_); }) < 0) fail("sync", errno);
}

void file::sync() {
  if (uninterrupted([&] { return files_->fsync(descriptor_); }) < 0) fail("sync", errno);
}

bool file::try_lock() {
  if (uninterrupted([&] { return files_->flock(descriptor_, LOCK_EX | LOCK_NB); }) == 0) {
    return true;
  }
  if (errno != EWOULDBLOCK) fail("lock", errno);
  return false;
}

void file::close() {
  // Never repeated: Linux releases the descriptor even if it reports EINTR.
  const int closed = files_->close(std::exchange(descriptor_, -1));
  if (closed < 0 && errno != EINTR) fail("close", errno);
}

void file::fail(std::string_view action, int code) const {
  fail_at(category_, path_, action, code);
}

void make_directories(const std::filesystem::path& directory, file_system& files) {
  std::error_code unknown;
  if (std::filesystem::is_directory(directory, unknown)) return;
  const std::filesystem::path parent = directory.parent_path();
  if (!parent.empty() && parent != directory) make_directories(parent, files);
  if (files.mkdir(directory.c_str(), 0777) < 0) {
    const int code = errno;
    // Another process may have created it in the meantime.
    if (!std::filesystem::is_directory(directory, unknown)) {
      fail_at(failure::output, directory, "create the directory", code);
    }
  }
  sync_directory(parent.empty() ? "." : parent, files);
}

void sync_directory(const std::filesystem::path& directory, file_system& files) {
  file(directory, O_RDONLY | O_DIRECTORY, failure::output, files).sync();
}

void write_snapshot(const std::filesystem::path& path, std::string_view text, file_system& files) {
  const std::filesystem::path place = runtime::behind_links(path);
  const std::filesystem::path directory = place.has_parent_path() ? place.parent_path() : ".";
  const std::filesystem::path temporary =
      directory / fmt::format(".{}.tmp.{}", place.filename().string(), getpid());
  try {
    file out(temporary, O_WRONLY | O_CREAT | O_TRUNC, failure::output, files);
    out.write_all(text);
    out.sync();
    out.close();
    if (files.rename(temporary.c_str(), place.c_str()) < 0) {
      fail_at(failure::output, path, "replace the file", errno);
    }
  } catch (const error&) {
    std::error_code gone;
    std::filesystem::remove(temporary, gone);
    throw;
  }
  sync_directory(directory, files);
}

void remove_abandoned_snapshots(const std::filesystem::path& directory) {
  // Abandoned files only take space: one that cannot be listed or removed may stay.
  std::error_code unreadable;
  std::filesystem::directory_iterator entry(directory, unreadable);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(unreadable)) {
    const std::optional<pid_t> writer = writer_of(entry->path().filename().string());
    if (!writer) continue;
    // This process is writing none now, so a file with its number is from an earlier process.
    const bool abandoned = *writer == getpid() || (kill(*writer, 0) < 0 && errno == ESRCH);
    std::error_code gone;
    if (abandoned) std::filesystem::remove(entry->path(), gone);
  }
}

}  // namespace kselect::harness
