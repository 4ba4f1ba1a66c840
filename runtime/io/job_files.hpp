#pragma once
// The files of one job: what it reads and what it writes. A command names them before it works, so
// that a collision costs a message and not an answer.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/temporary_file.hpp"

namespace kselect::runtime {

// A file and the option that named it. An empty path stands for an option that was not given.
struct named_file {
  std::string option;
  std::filesystem::path path;
  // Whether "-" and FIFOs will do (stream.hpp).
  bool takes_stream = false;
};

// Whether standard output is one of these. Messages then belong on standard error.
bool take_standard_output(std::span<const named_file> outputs);

// While it lives, no other job of this program writes these outputs.
class job_files {
 public:
  // Throws failure::usage if two outputs are the same file, if an output is an input (by whatever
  // name), or if "-" is given twice or to an option that takes no stream; failure::output if an
  // output is no regular file, if its folder cannot be written, or if another job writes it.
  job_files(std::span<const named_file> inputs, std::span<const named_file> outputs);
  job_files(const job_files&) = delete;
  job_files& operator=(const job_files&) = delete;
  ~job_files();

 private:
  struct lock {
    int descriptor;
    temporary_file name;
  };
  void take(const std::filesystem::path& target);

  std::vector<lock> locks_;
};

}  // namespace kselect::runtime
