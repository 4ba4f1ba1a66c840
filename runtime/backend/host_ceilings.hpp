#pragma once
// Measures the host's memory bandwidth, and evicts data from its caches.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// The sum modulo 2^64 of the bytes as 64-bit integers of this machine, padded with zeros. This is
// our fastest way to read memory.
std::uint64_t sum_of_words(memory_range bytes);

// Seconds for `threads` threads to read these bytes once, each thread a part: the mean of
// `readings` consecutive readings. The time to start the threads does not count.
double seconds_to_read(memory_range bytes, int threads, int readings = 1);

// For tests alone, which make thousands of short sweeps and read no ceiling: the environment
// variable with the MiB of the block that ceilings are measured on. The caches hold a small block,
// so the ceilings are then too high.
inline constexpr char ceiling_block_variable[] = "KSELECT_TEST_CEILING_MIB";
// What it says; "" without it.
std::string ceiling_block();

// The best of a few passes on `threads` threads. `cache_bytes`: size of the last-level cache; 0 if
// unknown. Throws error(failure::usage) if `ceiling_block()` is no size.
memory_ceilings measure_host_ceilings(int threads, std::size_t cache_bytes);

// Writes back and drops the lines of these ranges from every cache level.
void evict_host(std::span<const memory_range> ranges);

}  // namespace kselect::runtime
