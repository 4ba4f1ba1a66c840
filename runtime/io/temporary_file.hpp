#pragma once
// The name of a file that must not outlive the work it is for: removed by the destructor, and by
// SIGINT, SIGTERM and SIGHUP where nothing else handles them.

#include <filesystem>

namespace kselect::runtime {

class temporary_file {
 public:
  temporary_file() = default;
  // The file exists already.
  explicit temporary_file(std::filesystem::path path);
  temporary_file(temporary_file&& other) noexcept;
  temporary_file& operator=(temporary_file&& other) noexcept;
  ~temporary_file() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  // Removes the file now.
  void remove();
  // The file stays, or has got another name.
  void keep();

 private:
  std::filesystem::path path_;  // empty: none
  int place_ = -1;              // in the table of the signal handler
};

}  // namespace kselect::runtime
