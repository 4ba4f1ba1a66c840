#pragma once
// How k-NN on a GPU cuts its work to fit the memory. The plan follows from numbers alone, before
// anything is allocated, and needs no GPU.
//
// By rows: one tile of queries against all corpus tiles in turn. By pairs (the k-NN graph of a
// resident corpus with half of the product): the product of two corpus tiles serves the queries of
// both. By passes (a corpus that is read while it is searched): each corpus tile is compared with
// all queries before the next one comes. Pairs and passes keep the candidates of all queries at
// once.

#include <cstdint>
#include <limits>
#include <string>

#include "search/knn/knn.hpp"

namespace kselect::search {

// Bytes of device memory: `corpus` (by pairs, with the candidates of all its vectors), `tile` for
// distances and the other buffers of a tile's queries, and the algorithm's `workspace`.
struct memory_bounds {
  std::int64_t corpus, tile, workspace;
  // The most vectors of a corpus tile that passes through host memory, which holds two tiles.
  std::int64_t widest = std::numeric_limits<std::int64_t>::max();
};
// The bounds for request.cuda.memory_bytes, and for its value 0 (from the free memory).
memory_bounds split_memory(std::int64_t bytes);
memory_bounds split_free_memory(std::int64_t free_bytes);

// Cuts `count` vectors into `parts` tiles whose widths differ by at most one.
struct even_cut {
  std::int64_t count = 0;
  std::int64_t parts = 1;

  std::int64_t first(std::int64_t part) const { return part * count / parts; }
  std::int64_t width(std::int64_t part) const { return first(part + 1) - first(part); }
  std::int64_t widest() const { return (count + parts - 1) / parts; }
};

struct knn_plan {
  // Candidates of each query: k, one more if its own vector is left out, and a margin that makes
  // the answer provable.
  std::int64_t kept = 0;
  even_cut corpus;
  bool streamed = false;
  // Corpus tiles that device memory holds at a time. 0: the corpus is resident in one piece.
  std::int64_t slots = 0;
  bool by_pairs = false;  // then the corpus is resident, and the queries are cut like it
  // Why the whole product is computed although half of it was asked for.
  std::string whole_product_because;
  std::int64_t tile_queries = 0;     // the most queries of a tile
  std::int64_t query_tiles = 1;      // by passes: tiles of queries held at once
  std::int64_t pitch = 0;            // of rows of distances
  std::int64_t candidate_pitch = 0;  // of rows of candidates: room for 2 * `kept`

  // Tiles of queries whose candidates are kept at once.
  std::int64_t groups() const { return by_pairs ? corpus.parts : query_tiles; }
};

// By pairs if the request asks for half of the product and it is possible, else by rows. Throws
// error(failure::unsupported) if the algorithm cannot select that many from any tile.
knn_plan make_plan(const knn_request& request, const device& place, const memory_bounds& limit);

// By passes, for all queries of the request. Candidates and queries take memory of the corpus'
// part. If the corpus fits into the rest, each tile has a slot; else there are two slots. Throws as
// make_plan does.
knn_plan plan_passes(const knn_request& request, const device& place, const memory_bounds& limit);
// The most queries for plan_passes: they take at most a quarter of the corpus' part. At least 1.
std::int64_t most_queries_of_passes(const knn_request& request, const device& place,
                                    const memory_bounds& limit);

}  // namespace kselect::search
