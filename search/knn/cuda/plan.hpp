#pragma once
// How k-NN on a GPU cuts its work to fit its memory: decided from numbers alone, before anything is
// allocated, and without a GPU.
//
// By rows: a tile of queries against one corpus tile after another. By pairs, for the k-NN graph of
// a resident corpus with half of the product: the corpus is cut into square tiles, and the product
// of two of them serves the queries of both, so that candidates of all queries are kept at once. By
// passes, for a corpus that is read while it is searched: every tile of it meets all queries before
// the next one comes, so that candidates of all of them are kept as well.

#include <cstdint>
#include <limits>
#include <string>

#include "search/knn/knn.hpp"

namespace kselect::search {

// Bytes of device memory: for the corpus (and the candidates of all its vectors, by pairs), for
// distances with all that goes with them, and for the algorithm's workspace.
struct memory_bounds {
  std::int64_t corpus, tile, workspace;
  // Vectors of a tile of the corpus that comes through the host, which has memory for two.
  std::int64_t widest = std::numeric_limits<std::int64_t>::max();
};
// What request.cuda.memory_bytes stands for, and what its 0 does.
memory_bounds split_memory(std::int64_t bytes);
memory_bounds split_free_memory(std::int64_t free_bytes);

// `count` vectors in `parts` tiles, whose widths differ by at most one.
struct even_cut {
  std::int64_t count = 0;
  std::int64_t parts = 1;

  std::int64_t first(std::int64_t part) const { return part * count / parts; }
  std::int64_t width(std::int64_t part) const { return first(part + 1) - first(part); }
  std::int64_t widest() const { return (count + parts - 1) / parts; }
};

struct knn_plan {
  // Selected for each query: k, its own vector where that is left out, and a margin that makes the
  // answer provable.
  std::int64_t kept = 0;
  even_cut corpus;
  bool streamed = false;
  // Tiles that device memory holds at a time, brought one by one; 0: the corpus is there in one
  // piece.
  std::int64_t slots = 0;
  bool by_pairs = false;  // then resident, and the queries are cut as the corpus is
  // Half of the product was asked for, and this is why the whole one is taken.
  std::string whole_product_because;
  std::int64_t tile_queries = 0;     // of a tile, at most
  std::int64_t query_tiles = 1;      // by passes: that are held at once
  std::int64_t pitch = 0;            // of rows of distances
  std::int64_t candidate_pitch = 0;  // of rows of candidates: room for two times `kept`

  // Tiles of queries whose candidates are kept at once.
  std::int64_t groups() const { return by_pairs ? corpus.parts : query_tiles; }
};

// Throws error(failure::unsupported) where the algorithm cannot select so many from any tile.
knn_plan make_plan(const knn_request& request, const device& place, const memory_bounds& limit);

// By passes, for all queries of the request; candidates and queries belong to the corpus' part. A
// corpus that fits into the rest has a slot for every tile, else there are two. Throws as make_plan
// does.
knn_plan plan_passes(const knn_request& request, const device& place, const memory_bounds& limit);
// How many queries that can be at most, so that they take a quarter of the corpus' part; at least
// one.
std::int64_t most_queries_of_passes(const knn_request& request, const device& place,
                                    const memory_bounds& limit);

}  // namespace kselect::search
