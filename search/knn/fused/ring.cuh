#pragma once
// Device code: the ring of buffers that brings tiles of a corpus to the products of
// filter_wgmma.cu.

#include <cstddef>

#include "search/knn/fused/hopper.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused::hopper {

// Where a block's buffers and barriers lie in dynamic shared memory. `limited`: columns have limits
// beside their starts.
template <int slabs, bool limited = false>
struct ring {
  static constexpr int stages = slabs == 1 ? 10 : 6;
  static constexpr std::uint32_t tile_bytes = slabs * slab_bytes;
  static constexpr std::uint32_t numbers_bytes = tile_rows * sizeof(float);
  static constexpr std::uint32_t start_bytes = (limited ? 2 : 1) * numbers_bytes;
  static constexpr std::uint32_t swizzle_bytes = 1024;  // tiles begin at multiples
  static constexpr std::size_t bytes = stages * (tile_bytes + start_bytes + 16) + swizzle_bytes;

  shared_address base;

  __device__ explicit ring(const void* memory)
      : base((address_of(memory) + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes) {}
  __device__ shared_address tile(int stage) const { return base + stage * tile_bytes; }
  __device__ shared_address starts(int stage) const {
    return base + stages * tile_bytes + stage * start_bytes;
  }
  __device__ shared_address limits(int stage) const { return starts(stage) + numbers_bytes; }
  __device__ shared_address full(int stage) const {
    return base + stages * (tile_bytes + start_bytes) + stage * 8;
  }
  __device__ shared_address empty(int stage) const { return full(stages + stage); }
};

// Makes the barriers of all stages ready. One thread of a block calls it, and a barrier of the
// block follows. `readers` threads arrive at a stage's empty barrier, one thread at its full one.
template <class Ring>
__device__ void init_stages(const Ring& memory, std::uint32_t readers) {
  for (int s = 0; s < Ring::stages; ++s) {
    init_barrier(memory.full(s), 1);
    init_barrier(memory.empty(s), readers);
  }
  publish_barriers();
}

// A stage of the ring and the parity of its barriers' phase.
template <int stages>
struct cursor {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void next() {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

}  // namespace kselect::search::fused::hopper
