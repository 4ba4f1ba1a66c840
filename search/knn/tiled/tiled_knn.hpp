#pragma once
// Exact k nearest neighbours where neither the corpus nor the answer fits into memory, by one
// process or by several that hold a part of the corpus each.
//
// After Komarov et al. 2014, who name it as what is left to do. Tiles of queries go one after the
// other; for each, every rank lets its part of the corpus pass by in tiles, read while the one
// before is worked on, and merges each tile's k nearest into the k found so far. Then each rank
// gets its share of the queries from all ranks (so that no rank needs memory for all of them),
// merges them, and rank 0 writes the rows while the next tile begins.
//
// A tile is searched by knn() on any executor, so distances, proofs and order are what they are in
// memory; merging is exact (neighbour_lists.hpp), so the answer is the same whatever the bound on
// memory and the number of ranks. On executor cuda the products' tiles are cuBLAS's, and the answer
// is that of candidates.hpp: proven by error bounds, not bit by bit.

#include <cstdint>
#include <functional>

#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/tiled_request.hpp"
#include "search/knn/tiled/times.hpp"

namespace kselect::search {

struct tiled_report {
  std::int64_t n = 0, queries = 0, dimension = 0;
  tile_plan plan;                   // of this rank
  std::int64_t held_bytes = 0;      // by the process before the first tile, a rank's share
  std::int64_t query_tiles = 0;     // still to do when it started
  std::int64_t vectors = 0;         // of this rank's part of the corpus
  std::int64_t corpus_tiles = 0;    // of it
  std::int64_t queries_before = 0;  // done by an earlier run of the job
  bool compressed = false;          // the corpus, which every pass inflates again
  bool nccl = false;                // lists went from GPU to GPU
  shard_report shard;               // of this rank
  tiled_times times;                // of this rank
};

// Told as the search goes, on rank 0.
struct tiled_observer {
  std::function<void(const tiled_report&)> planned = [](const tiled_report&) {};
  std::function<void(std::int64_t queries_done)> finished_tile = [](std::int64_t) {};
};

// Collective. Before anything is computed all ranks compare program, request and files; what does
// not agree, or what any of them cannot do, is thrown on all ranks as one agreed_error whose
// message names the rank. Later errors are thrown on the rank that has them, which must then end
// the job (communicator::abort). Throws what vector_files, result_store, plan_tiles and knn throw.
tiled_report knn_in_tiles(const tiled_request& request, backend& place, communicator& ranks,
                          const tiled_observer& observer = {});

}  // namespace kselect::search
