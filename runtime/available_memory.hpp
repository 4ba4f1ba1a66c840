#pragma once

#include <cstddef>

namespace kselect::runtime {

// Bytes of memory that the host can still allocate without swapping; 0 if unknown.
std::size_t available_memory();

}  // namespace kselect::runtime
