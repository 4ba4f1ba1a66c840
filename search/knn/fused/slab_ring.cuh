#pragma once
// Device code: the share of a block of filter_slabs_wgmma.cu, and the ring of buffers that brings
// it slabs of a few tiles of the corpus at once, and of its queries.

#include <cstddef>

#include "kselect/hd.hpp"
#include "search/knn/fused/filter_args.cuh"
#include "search/knn/fused/plan.hpp"
#include "search/knn/fused/ring.cuh"

namespace kselect::search::fused::hopper {

inline constexpr int together = tiles_together(product_body::wgmma_slabs);

// The queries and tiles of a piece. Each step multiplies `together` tiles. A filter for maxima
// takes tiles in groups (filter_args::group): the tiles of a step are of different groups. Without
// maxima a group is one tile.
struct slab_share {
  int query_tile, part, first_tile, last_tile, group, groups, steps;

  __device__ slab_share(const filter_args& a, int piece, bool of_maxima)
      : query_tile(piece % a.query_tiles),
        part(piece / a.query_tiles),
        first_tile(a.first_tile + part * a.part),
        last_tile(min(first_tile + a.part, a.last_tile)),
        group(of_maxima ? a.group : 1),
        groups((last_tile - first_tile + group - 1) / group),
        steps((groups + together - 1) / together * group) {}

  // The group of tile t of a step, of the part. Beyond the last if it is not below `groups`.
  __device__ int group_of(int step, int t) const { return step / group * together + t; }
  // Beyond the last if it is not below last_tile: nothing of it is kept then.
  __device__ int tile_of(int step, int t) const {
    return first_tile + group_of(step, t) * group + step % group;
  }
  // What a step's buffer holds in its place: the last tile again.
  __device__ int tile_to_bring(int step, int t) const {
    return min(tile_of(step, t), last_tile - 1);
  }
};

// Where a block's buffers and barriers lie in dynamic shared memory: stages, starts, barriers. A
// stage has a slab of the queries, then those of the tiles. Slabs begin at multiples of 1024 bytes.
// If there is one tile of queries, its slab ends after the last eight rows that are there. Products
// then read on into the tiles, which is in bounds.
struct slab_ring {
  static constexpr int stages = 4;
  static constexpr std::uint32_t a_slab = slab_bytes;
  static constexpr std::uint32_t numbers_bytes = tile_rows * sizeof(float);
  static constexpr std::uint32_t start_bytes = together * numbers_bytes;
  static constexpr std::uint32_t swizzle_bytes = 1024;

  // Bytes of a slab of queries.
  KSELECT_HD static constexpr std::uint32_t slot_of(const filter_args& a) {
    return a.query_tiles == 1 ? static_cast<std::uint32_t>((a.rows + 7) / 8) * swizzle_bytes
                              : a_slab;
  }
  static constexpr std::size_t bytes(const filter_args& a) {
    return stages * (slot_of(a) + together * a_slab + start_bytes + 16) + swizzle_bytes;
  }

  std::uint32_t slot, stage_bytes;
  shared_address buffers;

  __device__ slab_ring(const void* memory, const filter_args& a)
      : slot(slot_of(a)),
        stage_bytes(slot + together * a_slab),
        buffers((address_of(memory) + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes) {}
  __device__ shared_address rows(int stage) const { return buffers + stage * stage_bytes; }
  __device__ shared_address columns(int stage) const { return rows(stage) + slot; }
  __device__ shared_address starts(int stage) const { return rows(stages) + stage * start_bytes; }
  __device__ shared_address full(int stage) const { return starts(stages) + stage * 8; }
  __device__ shared_address empty(int stage) const { return full(stages + stage); }
};

}  // namespace kselect::search::fused::hopper
