#pragma once
// Files of vectors as one file of prepared vectors (block_file.hpp).

#include <cstdint>
#include <filesystem>
#include <functional>

#include "runtime/io/block_file.hpp"
#include "runtime/io/vector_file.hpp"

namespace kselect::runtime {

// The narrowest type that holds every component as it is, so that a search reads the fewest bytes.
// Reads all vectors. Throws the exceptions of vector_files::read.
element_type narrowest_type(const vector_files& from,
                            const std::function<void(std::int64_t vectors)>& done);

// Writes all vectors. They are read twice. Throws failure::input if the files change meanwhile, and
// the exceptions of vector_files::read and block_writer. `done`: vectors of both readings so far.
block_shape prepare_vectors(const vector_files& from, const std::filesystem::path& target,
                            const std::function<void(std::int64_t vectors)>& done);

}  // namespace kselect::runtime
