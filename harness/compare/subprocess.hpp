#pragma once
// Starting other programs without a shell: arguments arrive as they are.

#include <filesystem>
#include <string>
#include <vector>

namespace kselect::harness::compare {

// Runs arguments[0], found on PATH unless it has a slash, with standard output and error appended
// to `log`. Returns its exit code, 128 + the signal that ended it. Throws error(failure::usage) if
// it cannot be started.
int run_process(const std::vector<std::string>& arguments, const std::filesystem::path& log);

// The same, but anything else than exit code 0 is an error(failure::usage) that says `purpose` and
// the last line of the log.
void require_process(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                     const std::string& purpose);

// Its last line that is not empty.
std::string last_line(const std::filesystem::path& log);

}  // namespace kselect::harness::compare
