#pragma once
// How fast this host's memory is, and how to make a timed run start from it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// The sum of these bytes modulo 2^64, eight at a time as one integer of this machine, the last ones
// with zeros behind them: read as fast as we know how.
std::uint64_t sum_of_words(memory_range bytes);

// Seconds in which `threads` threads read these bytes, each a part of them: one reading, or the
// mean of as many as `readings`, one right after the other. Without what it takes to start the
// threads.
double seconds_to_read(memory_range bytes, int threads, int readings = 1);

// On `threads` threads, the best of a few passes; `cache_bytes` is the last-level cache (0:
// unknown).
memory_ceilings measure_host_ceilings(int threads, std::size_t cache_bytes);

// Writes back and drops the lines of these ranges from every cache level.
void evict_host(std::span<const memory_range> ranges);

}  // namespace kselect::runtime
