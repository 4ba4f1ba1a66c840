#pragma once
// Starts other programs without a shell, so arguments arrive unchanged.

#include <filesystem>
#include <string>
#include <vector>

namespace kselect::harness::compare {

// Runs arguments[0], which is searched on PATH unless it has a slash. Appends standard output and
// error to `log`. Returns the exit code, or 128 + the signal that ended it. Throws
// error(failure::usage) if the program cannot be started.
int run_process(const std::vector<std::string>& arguments, const std::filesystem::path& log);

// The same, but throws error(failure::usage) unless the exit code is 0. The message gives `purpose`
// and the last line of the log.
void require_process(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                     const std::string& purpose);

// The last line of the log that is not empty.
std::string last_line(const std::filesystem::path& log);

}  // namespace kselect::harness::compare
