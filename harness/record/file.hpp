#pragma once
// The few file operations that recorded results depend on, each checked, each error naming the
// file, what the system said and what to do.
//
// The system calls go through file_system, so that a test can make any one of them fail or stop
// short; programs use system_files(), which adds nothing to the calls.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

// Every call behaves as the POSIX function of its name: a negative result and errno on failure.
class file_system {
 public:
  virtual ~file_system() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual ssize_t read(int descriptor, void* buffer, std::size_t size);
  virtual ssize_t write(int descriptor, const void* buffer, std::size_t size);
  virtual int fsync(int descriptor);
  virtual int fdatasync(int descriptor);
  virtual int ftruncate(int descriptor, off_t size);
  virtual int flock(int descriptor, int operation);
  virtual int close(int descriptor);
  virtual int mkdir(const char* path, mode_t mode);
  virtual int rename(const char* from, const char* to);
};

file_system& system_files();

// An open file. Interrupted calls are repeated; every other failure throws error(`category`), the
// category given to the constructor.
class file {
 public:
  // `flags` as for open(2); O_CLOEXEC is added, and a created file gets mode 0666 less the umask.
  file(const std::filesystem::path& path, int flags, failure category, file_system& files);
  file(file&& other) noexcept;
  ~file();

  // Everything from the current position to the end.
  std::string read_all();
  // Writes all of `text`, in one write(2) unless the system itself stops short. After a failure a
  // part of it may be in the file.
  void write_all(std::string_view text);
  void truncate(std::int64_t bytes);
  // To the device: sync_data the contents and the length, sync the other attributes too.
  void sync_data();
  void sync();
  // False when somebody else holds the lock. Released by close, or by the end of the process.
  bool try_lock();
  // The destructor closes as well, but cannot report.
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

// Replaces the file at `path` by `text` such that at any time, a crash included, it is the old file
// or the new one, whole. Writes `.<name>.tmp.<pid>` beside it and renames: one thread of a process
// at a time for one path. Throws error(failure::output); then the old file stands, unless only
// making the new name durable failed.
void write_snapshot(const std::filesystem::path& path, std::string_view text,
                    file_system& files = system_files());

// Removes from `directory` the temporary files of write_snapshot whose writers are no more.
void remove_abandoned_snapshots(const std::filesystem::path& directory);

}  // namespace kselect::harness
