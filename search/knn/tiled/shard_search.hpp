#pragma once
// One rank's part of the corpus, asked for the k nearest of one tile of queries after another.

#include <cstdint>
#include <memory>

#include "runtime/backend/backend.hpp"
#include "runtime/io/vector_file.hpp"
#include "runtime/io/vectors.hpp"
#include "search/knn/knn.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/knn/tiled/tiled_request.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Seconds and bytes of all that was asked so far.
struct shard_report {
  std::int64_t bytes_read = 0;   // of the corpus
  double read_s = 0;             // in the background
  double wait_s = 0;             // for a tile
  cuda_knn_times gpu;            // milliseconds by the GPU's own clock; executor cuda
  std::int64_t rows_proven = 0;  // executor cuda, as cuda_knn_report's
  std::int64_t unproven = 0;
  bool resident = false;  // in device memory: read once for all
};

class shard_search {
 public:
  shard_search() = default;
  shard_search(const shard_search&) = delete;
  shard_search& operator=(const shard_search&) = delete;
  virtual ~shard_search() = default;

  // How many tiles pass by for each tile of queries, and the vectors of the longest.
  virtual std::int64_t tiles() const = 0;
  virtual std::int64_t tile() const = 0;
  virtual shard_report report() const = 0;

  // Merges into `best` the nearest of `queries`, which are those from `first` on among all. Throws
  // what vector_files::read and knn do.
  virtual void nearest(const vector_set& queries, std::int64_t first, neighbour_lists& best) = 0;
};

// Vectors `first` to `end` of `base`, at most `tile` to a tile, for at most `queries` at a time.
// All arguments must outlive the search.
std::unique_ptr<shard_search> open_shard(const tiled_request& request, const vector_files& base,
                                         std::int64_t first, std::int64_t end, std::int64_t tile,
                                         std::int64_t queries, backend& place);

}  // namespace kselect::search
