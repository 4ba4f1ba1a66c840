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

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/exchange/communicator.hpp"
#include "harness/knn/knn.hpp"
#include "harness/knn/tiled/plan.hpp"
#include "kselect/registry.hpp"

namespace kselect {

// How ranks exchange their lists: by NCCL between GPUs, or by MPI through the hosts.
enum class exchange_kind : std::uint8_t {
  automatic,  // NCCL where it is there, which must be so on all ranks or on none; else MPI
  mpi,
  nccl
};
template <>
inline constexpr std::array<named<exchange_kind>, 3> names<exchange_kind> = {
    {{exchange_kind::automatic, "auto"},
     {exchange_kind::mpi, "mpi"},
     {exchange_kind::nccl, "nccl"}}};

struct tiled_request {
  std::vector<std::filesystem::path> base, query;  // no query: every base vector is one
  std::int64_t limit = 0;                          // of base vectors; 0: all
  bool exclude_self = false;
  kselect::metric metric = kselect::metric::sqeuclidean;
  std::int64_t k = 0;
  const registered& entry;
  std::int64_t memory_bytes = 0;  // of host memory a rank, all of the process included
  std::int64_t query_tile = 0;    // 0: what fits
  exchange_kind exchange = exchange_kind::automatic;
  bool resume = false;
  std::filesystem::path indices, distances;
  cuda_knn_options cuda = {};
};

struct tiled_report {
  std::int64_t n = 0, queries = 0, dimension = 0;
  tile_plan plan;                   // of this rank
  std::int64_t held_bytes = 0;      // by the process before the first tile
  std::int64_t query_tiles = 0;     // still to do when it started
  std::int64_t corpus_tiles = 0;    // of this rank
  std::int64_t queries_before = 0;  // done by an earlier run of the job
  std::int64_t bytes_read = 0;      // of the corpus, by this rank
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

}  // namespace kselect
