#pragma once
// How a k-NN search larger than memory is cut: the corpus and the queries into tiles. Each tile of
// queries is compared with all corpus tiles in turn. So a bound on memory is known before the run.
//
// On the host the float64 distance of a pair depends on the pair alone, so the answer has the same
// bits for any bound on memory and any number of ranks. On a GPU tiles begin at multiples of the
// products' own tiles.

#include <cstdint>
#include <functional>
#include <vector>

namespace kselect::search {

inline constexpr std::int64_t corpus_unit = 512;
inline constexpr std::int64_t query_unit = 256;
// Threads of a rank that read a tile for a GPU.
inline constexpr int gpu_readers = 8;
// The buffers of copies to and from a GPU (runtime/backend/cuda/staged_copies.hpp): of those in
// order with its work, and of those beside it.
inline constexpr std::int64_t pinned_bytes = 64 << 20;
// The most queries of a tile on the CPU. 2^13 queries take 2^12 operations for each byte read,
// which hides any disk. A killed job loses at most the results of one tile.
inline constexpr std::int64_t most_queries_on_cpu = 1 << 13;

struct tiled_sizes {
  std::int64_t n = 0;        // corpus vectors of one rank
  std::int64_t queries = 0;  // of all tiles
  std::int64_t dimension = 0;
  std::int64_t k = 0;
  std::int64_t most_query_tile = std::int64_t{1} << 31;  // MPI counts rows with an int
  std::int64_t most_corpus_tile = std::int64_t{1} << 62;
  int ranks = 1;
  int threads = 1;
  bool delivers = false;                 // lists are downloaded from a GPU into a buffer
  std::int64_t reading_bytes = 4 << 20;  // buffers for reading the files, beside the tiles
  bool keeps_input = true;  // the algorithm does not change its input, so no copy is needed
  // The algorithm's workspace for `rows` rows of n distances.
  std::function<std::int64_t(std::int64_t rows, std::int64_t n)> workspace;
};

struct tile_plan {
  std::int64_t corpus_tile = 0;  // vectors
  std::int64_t query_tile = 0;
  std::int64_t bytes = 0;  // the most memory that these tiles need
};

// Bytes of the block of queries that the host searches at once in a corpus tile: of at least
// query_unit queries.
std::int64_t host_block_bytes(const tiled_sizes& s, std::int64_t corpus_tile);

// Bytes that tiles of these lengths need, beside the memory that the process already holds.
std::int64_t tile_bytes(const tiled_sizes& s, std::int64_t corpus_tile, std::int64_t query_tile);

// Gives half of `bytes` to the corpus tile, then makes query tiles as long as fit and evens them,
// then gives the rest to the corpus. Long query tiles pay: each costs a pass over the corpus.
// `query_tile` > 0 fixes their length (rounded up to query_unit). On a GPU the corpus tile is the
// pinned buffer that tiles go through. Throws error(failure::resources) that names the least bytes.
tile_plan plan_tiles(const tiled_sizes& s, std::int64_t bytes, std::int64_t query_tile = 0);

// The number of queries that each rank merges: shares as equal as possible, by rank.
std::vector<std::int64_t> shares_of(std::int64_t queries, int ranks);

// The first vector of a rank's part of n. Parts are whole units and as equal as these allow.
std::int64_t first_of_rank(std::int64_t n, int rank, int ranks);

// The length of each rank's list of a query with which a merge knows the k nearest
// (merge_beginnings), in all likelihood, if the vectors lie in the corpus in no order. It is k
// where a shorter one would save little, and where a rank's part is short.
std::int64_t neighbours_of_list(std::int64_t k, std::int64_t n, int ranks);

}  // namespace kselect::search
