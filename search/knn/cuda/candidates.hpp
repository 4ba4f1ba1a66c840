#pragma once
// From a selection to the answer: a few candidates a query with their true distances are merged
// tile by tile, and at the end the k nearest are ordered.
//
// Vectors are ranked by float32 distances, so a few more than k are kept. Each candidate gets its
// distance in float64 from the vectors, which orders the answer. The answer is then proven by one
// comparison. Let t be the ranked distance of the last candidate and e the error bound of
// distance_rows.hpp. A vector that was not kept is ranked at t or beyond, so its true distance is
// at least t - e. If k candidates are at t - e or nearer, no other vector is nearer than these.
//
// Queries without that proof are done again: vectors are ranked by how much farther they are than
// the k-th candidate, computed in float64. Rounding to float32 keeps the sign of the difference.
// So if the last candidate is not nearer than the k-th was, all vectors that are nearer have been
// kept, and the answer is exact. Otherwise there is a nearer k-th candidate, to begin again from.

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
  std::int64_t first_own = -1;  // corpus index of the tile's query 0, if each query leaves out its
                                // own vector; -1: nothing is left out
};

// The answer of a selection: [rows][kept] in device memory.
struct selected {
  const float* values;
  const void* positions;  // of `index`
  index_type index;
  std::int64_t kept;
};

// The candidates of each row. Rows are `pitch` elements apart, with room for 2 * `kept`.
struct candidates {
  float* ranked;
  std::int64_t* index;  // in the corpus
  double* exact;        // the same quantity in float64: squared for euclidean
  std::int64_t pitch;
};

// The error bound e of the ranked distances.
struct error_bound {
  double factor;
  double offset;
  double largest_scale;
  const float* largest_weighted_square;  // of the corpus; device memory
  // Distances are ranked by distance_rows::directly(). `factor` is then the rounding of a float64
  // distance, relative, and the rest has no use.
  bool directly = false;
};

// All work is enqueued on `stream`, a cudaStream_t.

// Writes the elements selected from a tile, with their exact distances, to `to` from column `at`
// on. The tile starts at corpus vector `first`.
void place_candidates(const selected& from, const query_rows& queries,
                      const vectors_on_device& tile, std::int64_t first, const candidates& to,
                      std::int64_t at, void* stream);

// Copies the candidates that `chosen` selected from `from` to `to`, from column 0 on.
void gather_candidates(const selected& chosen, std::int64_t rows, const candidates& from,
                       const candidates& to, void* stream);

// Orders the candidates of each row and writes the first k.
class candidate_order {
 public:
  candidate_order(backend& place, std::int64_t max_rows, std::int64_t kept);

  // `indices`, `distances`: [tile's queries][k]; row r goes to the row of its query, and so does
  // the k-th distance, as candidates::exact, to `farthest`. `proven`: one byte a row, 1 if no
  // nearer vector can have been left out. `everything`: no vector has been left out.
  struct answer {
    std::int64_t* indices;
    float* distances;
    double* farthest;
    std::uint8_t* proven;
    std::int64_t k;
  };
  void write(const query_rows& queries, const candidates& from, metric m, const error_bound& bound,
             bool everything, const answer& to, void* stream);

  using key = unsigned long long;  // the type of CUDA's and CUB's overloads

  static constexpr std::int64_t bytes_per_row(std::int64_t kept) {
    // CUB's scratch is of the order of another copy of the keys.
    return 3 * kept * static_cast<std::int64_t>(sizeof(key));
  }

 private:
  std::int64_t kept_;
  device_buffer keys_, ordered_, scratch_;
};

}  // namespace kselect::search
