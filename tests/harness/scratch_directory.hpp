#pragma once
// A directory of a test's own. Tests run at the same time, also those of two builds.

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kselect::harness {

// An empty directory; the destructor removes it with its content.
class scratch_directory {
 public:
  scratch_directory() : path_(testing::TempDir() + "/kselect-record-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp: " + path_);
  }
  ~scratch_directory() { std::filesystem::remove_all(path_); }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path() / name; }
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kselect::harness
