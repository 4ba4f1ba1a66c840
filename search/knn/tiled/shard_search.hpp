#pragma once
// One rank's part of the corpus. Finds the k nearest for one tile of queries after another.

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/backend/backend.hpp"
#include "runtime/io/vector_file.hpp"
#include "runtime/io/vectors.hpp"
#include "search/knn/knn.hpp"
#include "search/knn/tiled/bound_sharing.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/knn/tiled/tiled_request.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Seconds and bytes of all searches so far.
struct shard_report {
  std::int64_t bytes_read = 0;   // of the corpus
  double read_s = 0;             // in the background
  double wait_s = 0;             // for a tile
  cuda_knn_times gpu;            // milliseconds by the GPU's own clock; executor cuda
  std::int64_t rows_proven = 0;  // executor cuda, as cuda_knn_report's
  std::int64_t unproven = 0;
  std::int64_t survivors = 0;   // float16: vectors whose exact distance was computed
  std::int64_t by_float64 = 0;  // float16: queries done in float64; a tile counts apart
  bool resident = false;        // the part is in device memory and was read once
};

class tile_stream;
// The report with what the stream has read so far.
shard_report with_reading(shard_report report, const tile_stream& from);

class shard_search {
 public:
  shard_search() = default;
  shard_search(const shard_search&) = delete;
  shard_search& operator=(const shard_search&) = delete;
  virtual ~shard_search() = default;

  // The number of corpus tiles, and the vectors of the longest.
  virtual std::int64_t tiles() const = 0;
  virtual std::int64_t tile() const = 0;
  virtual shard_report report() const = 0;

  // Whether lists may be shorter than the request's k: it has nearest_again().
  virtual bool shortens_lists() const { return false; }
  // Brings what all queries share to the executor's memory, if it fits. Called once, before the
  // first queries, whose lists will have `list_length` neighbours. Throws the exceptions of
  // vector_files::read and knn.
  virtual void load(std::int64_t /*list_length*/) {}
  // Whether a tile of queries is searched in a moment, because nothing is read for it.
  virtual bool quick() const { return false; }
  // Whether it needs the queries' vectors, not only their numbers.
  virtual bool takes_queries() const { return true; }
  // Brings queries to the executor before their nearest() is called: those of two tiles before the
  // first; then those of tile t + 2, in place of those of t, which has been searched. Another
  // thread may do so while t + 1 is searched.
  virtual void bring(const vector_set&) {}
  // Finds the nearest of `queries`. `best` has room for them; what it held is lost. The first query
  // has number `first` among all. Throws the exceptions of vector_files::read and knn. What it
  // returns, unless empty, must be called before `best` is read; another thread may do so during
  // the next call, but not during the one after that. `shared`: where ranks cut each other's
  // survivors, if the shard can. Where `best` has fewer neighbours than the request, its lists are
  // the beginnings of the rank's, and may end with no_neighbour before their last place.
  [[nodiscard]] virtual std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                                      neighbour_lists& best,
                                                      bound_sharing& shared) = 0;
  // The same for at most query_unit queries whose lists were too short; they were not brought.
  // `best` has as many neighbours as the request, and is complete on return.
  virtual void nearest_again(const vector_set& queries, std::int64_t first, neighbour_lists& best);
};

// Opens vectors [first, end) of `base`, in tiles of at most `tile`, for up to `queries` at a time.
// All arguments must outlive the search.
std::unique_ptr<shard_search> open_shard(const tiled_request& request, const vector_files& base,
                                         std::int64_t first, std::int64_t end, std::int64_t tile,
                                         std::int64_t queries, backend& place);

}  // namespace kselect::search
