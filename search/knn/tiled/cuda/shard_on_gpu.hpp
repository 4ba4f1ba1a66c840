#pragma once
// A part of the corpus that a GPU searches. shard_search.cpp calls it in builds with CUDA.
//
// Tiles go from the file through two pinned buffers to device memory, while the tile before is
// compared with all queries (search/knn/cuda/corpus_tiles.hpp). Candidates stay on the GPU until
// the pass is over. A part that fits into device memory is read once, in the first pass.

#include <cstdint>
#include <memory>

#include "search/knn/tiled/shard_search.hpp"

namespace kselect::search {

// The longest tiles, by the memory that the device has free now.
struct gpu_tile_bounds {
  std::int64_t queries;      // the most of a tile
  std::int64_t corpus_tile;  // the most vectors of a tile
};
gpu_tile_bounds bound_gpu_tiles(const tiled_request& request, std::int64_t dimension,
                                std::int64_t queries, std::int64_t vectors, backend& place);

// Opens vectors [first, end) of `base`, in tiles of at most `tile`, for up to `queries` at a time.
std::unique_ptr<shard_search> open_gpu_shard(const tiled_request& request, const vector_files& base,
                                             std::int64_t first, std::int64_t end,
                                             std::int64_t tile, std::int64_t queries,
                                             backend& place);

}  // namespace kselect::search
