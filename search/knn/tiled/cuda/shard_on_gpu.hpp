#pragma once
// What shard_search.cpp calls in builds with CUDA: a part of the corpus that passes by a GPU.
//
// Tiles go from the file through two pinned buffers to device memory while the tile before them
// meets all queries (search/knn/cuda/corpus_tiles.hpp); what was selected stays on the GPU until
// the pass is over. A part that fits into device memory is read once, in the first pass.

#include <cstdint>
#include <memory>

#include "search/knn/tiled/shard_search.hpp"

namespace kselect::search {

// How long tiles should be, by what the device has free now.
struct gpu_tile_bounds {
  std::int64_t queries;      // of a tile, at most
  std::int64_t corpus_tile;  // vectors, at most
};
gpu_tile_bounds bound_gpu_tiles(const tiled_request& request, std::int64_t dimension,
                                std::int64_t queries, std::int64_t vectors, backend& place);

// Vectors `first` to `end` of `base`, at most `tile` to a tile, for at most `queries` at a time.
std::unique_ptr<shard_search> open_gpu_shard(const tiled_request& request, const vector_files& base,
                                             std::int64_t first, std::int64_t end,
                                             std::int64_t tile, std::int64_t queries,
                                             backend& place);

}  // namespace kselect::search
