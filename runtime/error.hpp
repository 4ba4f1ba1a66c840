#pragma once
// How the harness and the CLI fail: one exception that carries a one-line message and the category
// that decides the exit code. Algorithms report by value (kselect::status); nothing below the
// harness throws.

#include <stdexcept>
#include <string>

namespace kselect::runtime {

// The values are the exit codes of `kselect` (docs/reference/exit-codes.md).
enum class failure : int {
  cells = 1,         // a sweep ran, but some cell ended wrong, in error or out of memory
  usage = 2,         // command line, config or problem is invalid (unknown key, k > n, ...)
  input = 3,         // an input file is missing, truncated or of the wrong type or shape
  unsupported = 4,   // the algorithm or executor cannot do this here
  resources = 5,     // does not fit into memory
  output = 6,        // results cannot be written, or another run holds the directory
  wrong_answer = 7,  // an algorithm's answer failed its certificate
  interrupted = 130  // stopped by SIGINT or SIGTERM; what is recorded is complete
};

// what() is one line that names the file, key or cell and says what to do.
class error : public std::runtime_error {
 public:
  error(failure category, const std::string& message)
      : std::runtime_error(message), category_(category) {}
  failure category() const noexcept { return category_; }
  int exit_code() const noexcept { return static_cast<int>(category_); }

 private:
  failure category_;
};

}  // namespace kselect::runtime
