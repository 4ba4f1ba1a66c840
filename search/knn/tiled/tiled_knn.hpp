#pragma once
// Exact k nearest neighbours if neither the corpus nor the answer fits into memory, by one process
// or by several that each have a part of the corpus.
//
// Komarov et al. 2014 name this as future work. Tiles of queries are searched one after the other.
// For each, every rank goes through the tiles of its part of the corpus and merges each tile's k
// nearest into the k found so far; the next corpus tile is read meanwhile. Then each rank gets the
// lists of its share of the queries from all ranks and merges them, so that no rank needs memory
// for all lists. Rank 0 writes the rows while the next tile of queries begins.
//
// knn() searches a tile on any executor, so distances, proofs and order are those of a search in
// memory. Merging is exact (neighbour_lists.hpp), so the answer is the same for any bound on memory
// and any number of ranks. So it is with products in float16 on executor cuda. With its older
// products cuBLAS chooses the tiles, so the answer is proven by error bounds (candidates.hpp) and
// need not be equal bit by bit.

#include <cstdint>
#include <functional>
#include <string>

#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/tiled_request.hpp"
#include "search/knn/tiled/times.hpp"

namespace kselect::search {

struct tiled_report {
  std::int64_t n = 0, queries = 0, dimension = 0, k = 0;
  std::string base_fingerprint, query_fingerprint;  // vector_files::fingerprint
  tile_plan plan;                                   // of this rank
  std::int64_t held_bytes = 0;      // the rank's share of the process' memory before the first tile
  std::int64_t query_tiles = 0;     // to do when this run started
  std::int64_t vectors = 0;         // of this rank's part of the corpus
  std::int64_t corpus_tiles = 0;    // of this rank's part
  std::int64_t queries_before = 0;  // done by an earlier run of the job
  knn_product product = knn_product::automatic;  // what was used
  std::string other_because;     // why --product auto is not float16 on executor cuda
  std::int64_t list_length = 0;  // neighbours of a rank's list of a query (neighbours_of_list)
  bool by_pairs = false;         // each rank took its share of a graph's pairs (shard_of_graph.hpp)
  std::string whole_because;     // why not, if it was asked for
  bool nccl = false;             // lists went from GPU to GPU
  shard_report shard;            // of this rank
  tiled_times times;             // of this rank
};

// `planned` and `finished_tile` are for progress, on rank 0.
struct tiled_observer {
  std::function<void(const tiled_report&)> planned = [](const tiled_report&) {};
  std::function<void(std::int64_t queries_done)> finished_tile = [](std::int64_t) {};
  // Whether this rank was asked to end. Before each tile of queries all ranks ask each other.
  std::function<bool()> stopping = [] { return false; };
};

// Collective. First all ranks compare program, request and files. If one differs or cannot do its
// part, all ranks throw one agreed_error whose message names that rank; so they do if one is asked
// to end, with failure::interrupted, when all finished tiles are kept. Other errors are thrown only
// on the rank that has them, which must then end the job (communicator::abort). Also throws the
// exceptions of vector_files, result_store, plan_tiles and knn.
tiled_report knn_in_tiles(const tiled_request& request, backend& place, communicator& ranks,
                          const tiled_observer& observer = {});

}  // namespace kselect::search
