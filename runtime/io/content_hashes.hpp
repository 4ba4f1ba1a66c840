#pragma once
// Hashes of whole input files. Each file is read once; what is known of it is kept by its identity,
// in memory and, beside a job that may be resumed, in a file.

#include <filesystem>
#include <string>

#include "runtime/io/input_file.hpp"

namespace kselect::runtime::content_hashes {

// 16 hexadecimal digits: XXH3 of all bytes of the file. Thread-safe; threads that ask for one file
// at once wait for one reading. Throws failure::input if the file changes while it is read.
std::string of(const input_file& file);

// Adds what an earlier process of this host kept in `file`. A file that is missing or makes no
// sense only costs another reading.
void recall(const std::filesystem::path& file);
// Keeps all that this process knows. Throws failure::output.
void keep(const std::filesystem::path& file);

}  // namespace kselect::runtime::content_hashes
