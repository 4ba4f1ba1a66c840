#pragma once
// Numbers of a launch that follow from the size of a device. Their constants were measured on GPUs,
// whose multiprocessors hold 1024 threads or more. On the small device that fibers stand for
// (test_device.hpp) the same formulas give small numbers.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kselect/call.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::simt {

// Threads of a multiprocessor that hide each other's latencies. A block has no more, unless its
// entry names a number.
inline int busy_threads(const device& where) {
  return std::min(thread_limit, where.resident_threads);
}

// Threads of a block: `wanted`, a power of two, or as many as a smaller device allows.
inline int block_threads(const device& where, int wanted) {
  const auto most = static_cast<unsigned>(busy_threads(where));
  return std::min(wanted, static_cast<int>(std::bit_floor(most)));
}

// Blocks of that many threads that a device holds at a time; at least one.
inline std::int64_t resident_blocks(const device& where, int threads) {
  const std::int64_t of_one = where.resident_threads / threads;
  return std::max<std::int64_t>(of_one * where.multiprocessors, 1);
}

// Warps that a device holds at a time, if a multiprocessor has room for `most`.
inline std::int64_t resident_warps(const device& where, int most) {
  return std::int64_t{where.multiprocessors} * std::min(most, where.resident_threads / warp_size);
}

// A row pays for several blocks if it has more elements: 16384 on a GPU.
inline std::int64_t long_row(const device& where) { return std::int64_t{16} * busy_threads(where); }

}  // namespace kselect::simt
