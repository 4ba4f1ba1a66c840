#pragma once
// Rows of a matrix in an .npy file as the input of a sweep: what `"input": {"rows": ...}` names.

#include <filesystem>
#include <memory>

#include "harness/plan/input.hpp"

namespace kselect::harness {

// Maps the file and reads it once: for its hash, and to know whether it holds NaN or infinities.
// Variant v of a problem begins at row v * Q; after the last row comes row 0. `threads`: of the
// host, to copy rows. Throws error(failure::input) if the file is no matrix of a type of rows
// (row_types.hpp), cannot be read, or changes while it is read.
std::unique_ptr<input_source> open_rows(const std::filesystem::path& file, int threads);

}  // namespace kselect::harness
