#pragma once
// What becomes of a selection: a few candidates a query with their true distances, merged tile by
// tile, and at the end the k nearest of them in order.
//
// Tiles are ranked by float32 distances, so a few more than k are kept. Each kept one gets its
// distance in float64 from the vectors themselves, and the answer is ordered by that. Whether the
// answer is provably the right one is then a comparison: what was not kept is ranked at or beyond
// the last kept, t, so its true distance is at least t - e with the error bound e of
// distance_rows.hpp; if k of the kept are at most at t - e, no other vector is nearer than them.

#include <cstdint>

#include "kselect/problem.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/distance/cuda/device_vectors.hpp"
#include "search/search.hpp"

namespace kselect::search {

// The queries of a pass: all of a tile, or those whose numbers are in `chosen` (device memory).
struct query_rows {
  vectors_on_device vectors;             // of the tile
  const std::int32_t* chosen = nullptr;  // null: row r is query r
  std::int64_t rows = 0;
  std::int64_t first_own = -1;  // index in the corpus of query 0 of the tile, which every query is
                                // to be kept from choosing with its like; -1: nothing is left out
};

// What an algorithm wrote: [rows][kept] in device memory.
struct selected {
  const float* values;
  const void* positions;  // of `index`
  index_type index;
  std::int64_t kept;
};

// Candidates of every row, `pitch` apart: room for two times `kept`.
struct candidates {
  float* ranked;
  std::int64_t* index;  // in the corpus
  double* exact;        // as ranked, without error: squared for euclidean
  std::int64_t pitch;
};

// The bound e of what was not kept.
struct error_bound {
  double factor;
  double offset;
  double largest_scale;
  const float* largest_weighted_square;  // of the corpus; device memory
};

// All work is enqueued on `stream`, a cudaStream_t.

// The selected of a tile that starts at corpus vector `first`, with their exact distances, to
// column `at` of `to`.
void place_candidates(const selected& from, const query_rows& queries,
                      const vectors_on_device& tile, std::int64_t first, const candidates& to,
                      std::int64_t at, void* stream);

// Those of `from` that `chosen` selected, to column 0 of `to`.
void gather_candidates(const selected& chosen, std::int64_t rows, const candidates& from,
                       const candidates& to, void* stream);

// Orders the kept candidates of every row and writes the first k.
class candidate_order {
 public:
  candidate_order(backend& place, std::int64_t max_rows, std::int64_t kept);

  // indices and distances [tile's queries][k]: row r goes to the row of its query. `proven`, one
  // byte a row, says for which rows nothing nearer can have been left out; null: it is not asked.
  // `everything`: the candidates are all there are.
  struct answer {
    std::int64_t* indices;
    float* distances;
    std::uint8_t* proven;
    std::int64_t k;
  };
  void write(const query_rows& queries, const candidates& from, metric m, const error_bound& bound,
             bool everything, const answer& to, void* stream);

  using key = unsigned long long;  // as CUDA's and CUB's overloads know it

  static constexpr std::int64_t bytes_per_row(std::int64_t kept) {
    // CUB's scratch is of the order of another copy of the keys.
    return 3 * kept * static_cast<std::int64_t>(sizeof(key));
  }

 private:
  std::int64_t kept_;
  device_buffer keys_, ordered_, scratch_;
};

}  // namespace kselect::search
