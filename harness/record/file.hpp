#pragma once
// The file operations that recorded results depend on. Each is checked. Each error names the file,
// the system's reason and what to do.
//
// All system calls go through file_system, so that a test can make any of them fail or end early.
// Programs use system_files(), which only makes the calls.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

// Each call behaves like the POSIX function of its name: a negative result and errno on failure.
class file_system {
 public:
  virtual ~file_system() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual ssize_t read(int descriptor, void* buffer, std::size_t size);
  virtual ssize_t write(int descriptor, const void* buffer, std::size_t size);
  virtual int fsync(int descriptor);
  virtual int fdatasync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  virtual int fallocate(int descriptor, int mode, off_t offset, off_t size);
  virtual int flock(int descriptor, int operation);
  virtual int close(int descriptor);
  virtual int mkdir(const char* path, mode_t mode);
  virtual int rename(const char* from, const char* to);
};

file_system& system_files();

// An open file. Interrupted calls are repeated. Any other failure throws error(`category`), where
// `category` is the one given to the constructor.
class file {
 public:
  // `flags` as for open(2). O_CLOEXEC is added. A created file gets mode 0666 less the umask.
  file(const std::filesystem::path& path, int flags, failure category, file_system& files);
  file(file&& other) noexcept;
  ~file();

  // Reads from the current position to the end.
  std::string read_all();
  // Writes all of `text`, in one write(2) unless the system writes less. After a failure the file
  // may hold a part of it.
  void write_all(std::string_view text);
  void truncate(std::int64_t bytes);
  // Sets disk space aside for the file's first `bytes` bytes; its length stays. So later writes
  // find room, and are faster. Does nothing where the file system cannot do it.
  void reserve(std::int64_t bytes);
  // Both write to the device: sync_data the contents and the length, sync other attributes as well.
  void sync_data();
  void sync();
  // False if another process holds the lock. Closing the file or ending the process releases it.
  bool try_lock();
  // The destructor closes too, but cannot report a failure.
  void close();

  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail(std::string_view action, int code) const;

  file_system* files_;
  std::filesystem::path path_;
  failure category_;
  int descriptor_;
};

// Creates `directory` and the parents it lacks, durably. Throws error(failure::output).
void make_directories(const std::filesystem::path& directory, file_system& files = system_files());

// Makes the names created in or renamed into `directory` durable. Throws error(failure::output).
void sync_directory(const std::filesystem::path& directory, file_system& files = system_files());

// Replaces the file at `path` by `text`. At any time, even in a crash, the path holds the whole old
// or the whole new file; a symbolic link there stays, and the file that it names is replaced.
// Writes
// `.<name>.tmp.<pid>` beside it and renames it, so only one thread of a process may write a path at
// a time. Throws error(failure::output). Then the old file is still there, unless the only failure
// was making the new name durable.
void write_snapshot(const std::filesystem::path& path, std::string_view text,
                    file_system& files = system_files());

// Removes the temporary files of write_snapshot in `directory` whose processes have ended.
void remove_abandoned_snapshots(const std::filesystem::path& directory);

}  // namespace kselect::harness
