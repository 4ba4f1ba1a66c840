#pragma once
// Reading by a library that a damaged file can crash or keep busy for ever. A child process reads
// and writes what it found into a pipe. Its crash is an error of the file for this process.
//
// The child is a fork: it may call the library and allocate memory, and start no threads.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <sys/types.h>

namespace kselect::runtime {

class isolated_reader {
 public:
  // Where the child's results go. What it throws ends the child.
  using results = std::function<void(std::span<const std::byte>)>;

  // Starts `work` in a child, which may use `seconds` of processor time. `library` and `file` are
  // for messages. Throws error(failure::resources) if no process can be started.
  isolated_reader(const char* library, std::filesystem::path file, int seconds,
                  const std::function<void(const results&)>& work);
  isolated_reader(const isolated_reader&) = delete;
  isolated_reader& operator=(const isolated_reader&) = delete;
  // Ends the child.
  ~isolated_reader();

  // The next bytes of the child's results. If it ends before it has written them, throws what
  // `work` threw (an error), or error(failure::input) that says how it crashed.
  void read(std::span<std::byte> out);

 private:
  [[noreturn]] void fail();

  const char* library_;
  std::filesystem::path file_;
  pid_t child_ = -1;
  int results_ = -1, message_ = -1;
};

}  // namespace kselect::runtime
