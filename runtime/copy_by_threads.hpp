#pragma once

#include <cstddef>

namespace kselect::runtime {

// Copies `bytes` bytes with up to `threads` threads. Large copies need several: one thread has
// less than the memory's bandwidth, and pays for each page of fresh memory alone.
void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes, int threads);

}  // namespace kselect::runtime
