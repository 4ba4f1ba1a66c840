#pragma once
// How a k-NN search that need not fit into memory is cut: the corpus into tiles that pass by, the
// queries into tiles that wait for all of them, so that a bound on memory is known before the run.
//
// Tiles begin at multiples of distance_calculator's own tiles. Its products are then the very same
// calls whatever the bound on memory and the number of ranks, so distances are equal bit by bit.

#include <cstdint>
#include <functional>
#include <vector>

namespace kselect::search {

inline constexpr std::int64_t corpus_unit = 512;  // distance_options::base_tile
inline constexpr std::int64_t query_unit = 256;   // distance_options::query_tile
// Threads of a rank that read a tile for a GPU.
inline constexpr int gpu_readers = 8;
// On the CPU: 2^13 queries make 2^12 operations of a byte read, which hides any disk behind the
// products, and a killed job loses no more than these.
inline constexpr std::int64_t most_queries_on_cpu = 1 << 13;

struct tiled_sizes {
  std::int64_t n = 0;        // corpus vectors of one rank
  std::int64_t queries = 0;  // of all
  std::int64_t dimension = 0;
  std::int64_t k = 0;
  std::int64_t most_query_tile = std::int64_t{1} << 31;  // MPI counts rows with an int
  std::int64_t most_corpus_tile = std::int64_t{1} << 62;
  int ranks = 1;
  int threads = 1;
  bool delivers = false;                 // lists come over from a GPU, and need room of their own
  std::int64_t reading_bytes = 4 << 20;  // that reading from the files takes beside the tiles
  bool keeps_input = true;  // the algorithm leaves its input alone, so needs no copy of it
  // Workspace of the algorithm on so many rows of so many distances.
  std::function<std::int64_t(std::int64_t rows, std::int64_t n)> workspace;
};

struct tile_plan {
  std::int64_t corpus_tile = 0;  // vectors
  std::int64_t query_tile = 0;
  std::int64_t bytes = 0;  // of memory that these tiles need, at most
};

// The queries whose distances to a tile of the corpus are held at once: whole units, some MiB.
std::int64_t block_rows(std::int64_t k, std::int64_t corpus_tile);

// Bytes that tiles of these lengths need. Without what the process holds already.
std::int64_t tile_bytes(const tiled_sizes& s, std::int64_t corpus_tile, std::int64_t query_tile);

// Half of `bytes` for the corpus, then as many queries as fit, evenly, then the rest for the
// corpus: every tile of queries costs one pass over the corpus. `query_tile` > 0 fixes that length
// (rounded up to query_unit). On a GPU a tile of the corpus stands for the pinned buffer that it
// goes through. Throws error(failure::resources) that names the least number of bytes.
tile_plan plan_tiles(const tiled_sizes& s, std::int64_t bytes, std::int64_t query_tile = 0);

// How many of so many queries each rank merges: as equal shares as possible, in the ranks' order.
std::vector<std::int64_t> shares_of(std::int64_t queries, int ranks);

// The first vector of each rank's part of n: whole units, as equal as these allow.
std::int64_t first_of_rank(std::int64_t n, int rank, int ranks);

}  // namespace kselect::search
