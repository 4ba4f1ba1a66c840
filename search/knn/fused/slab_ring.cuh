#pragma once
// Device code: the share of a block of filter_slabs_wgmma.cu, and the ring of buffers that brings
// it slabs of a few tiles of the corpus at once, and of its queries.

#include <cstddef>

#include "kselect/hd.hpp"
#include "search/knn/fused/filter_args.cuh"
#include "search/knn/fused/ring.cuh"

namespace kselect::search::fused::hopper {

// The block's queries and tiles. Each step multiplies `together` tiles. Tiles of which a row gets
// maxima come in groups (filter_args::group), and a step has one tile each of so many groups;
// without maxima a group is one tile.
template <int together>
struct slab_share {
  int query_tile, part, first_tile, last_tile, group, groups, steps;

  __device__ slab_share(const filter_args& a, int block, bool of_maxima)
      : query_tile(block % a.query_tiles),
        part(block / a.query_tiles),
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

// How a block divides its shared memory between queries that stay and those that pass.
struct slab_division {
  int stay;             // so many slabs of the queries, the first ones
  std::uint32_t slot;   // bytes of a slab of the queries
  std::uint32_t stage;  // bytes of a stage's slabs: those of the queries, if any pass, then tiles
};

// Where a block's buffers and barriers lie in dynamic shared memory: slabs of its queries that stay
// there, stages, starts, barriers. Slabs begin at multiples of 1024 bytes. A slab of queries ends
// after the last eight rows that are there. What products read beyond it are other buffers, since
// the tiles of a stage, which are longer, follow.
template <int together, bool queries_stay>
struct slab_ring {
  static constexpr int stages = queries_stay ? 3 : 4;
  static constexpr std::uint32_t a_slab = slab_bytes;
  static constexpr std::uint32_t numbers_bytes = tile_rows * sizeof(float);
  static constexpr std::uint32_t start_bytes = together * numbers_bytes;
  static constexpr std::uint32_t swizzle_bytes = 1024;
  // All but slabs of queries: what a stage has of tiles, starts and barriers.
  static constexpr std::uint32_t fixed_bytes =
      stages * (together * a_slab + start_bytes + 16) + 8 + swizzle_bytes;
  // 227 KiB, less what the kernel has in static memory.
  static constexpr std::uint32_t most_bytes = (227 - 5) << 10;

  KSELECT_HD static constexpr slab_division divide(const filter_args& a) {
    const std::uint32_t slot =
        a.query_tiles == 1 ? static_cast<std::uint32_t>((a.rows + 7) / 8) * swizzle_bytes : a_slab;
    const auto slabs = static_cast<std::uint32_t>(a.slabs);
    constexpr std::uint32_t room = most_bytes - fixed_bytes;
    if constexpr (!queries_stay) return {0, slot, slot + together * a_slab};
    if (slabs * slot <= room) return {a.slabs, slot, together * a_slab};
    return {static_cast<int>((room - stages * slot) / slot), slot, slot + together * a_slab};
  }
  static constexpr std::size_t bytes(const slab_division& by) {
    return fixed_bytes + static_cast<std::uint32_t>(by.stay) * by.slot +
           stages * (by.stage - together * a_slab);
  }

  slab_division by;
  shared_address base, buffers;

  __device__ slab_ring(const void* memory, const filter_args& a)
      : by(divide(a)),
        base((address_of(memory) + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes),
        buffers(base + by.stay * by.slot) {}
  // The queries' slab of that number, which is in that stage unless it stays.
  __device__ shared_address rows(int slab, int stage) const {
    if (queries_stay && slab < by.stay) return base + slab * by.slot;
    return buffers + stage * by.stage;
  }
  __device__ shared_address columns(int stage) const {
    return buffers + (stage + 1) * by.stage - together * a_slab;
  }
  __device__ shared_address starts(int stage) const {
    return buffers + stages * by.stage + stage * start_bytes;
  }
  __device__ shared_address full(int stage) const { return starts(stages) + stage * 8; }
  __device__ shared_address empty(int stage) const { return full(stages + stage); }
  __device__ shared_address queries_full() const { return full(2 * stages); }
};

}  // namespace kselect::search::fused::hopper
