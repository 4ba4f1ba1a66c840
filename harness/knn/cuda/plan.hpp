#pragma once
// How k-NN on a GPU cuts its work to fit its memory: decided from numbers alone, before anything is
// allocated, and without a GPU.
//
// By rows: a tile of queries against one corpus tile after another. By pairs, for the k-NN graph of
// a resident corpus with half of the product: the corpus is cut into square tiles, and the product
// of two of them serves the queries of both, so that candidates of all queries are kept at once.

#include <cstdint>
#include <string>

#include "harness/knn/knn.hpp"

namespace kselect {

// Bytes of device memory: for the corpus (and the candidates of all its vectors, by pairs), for
// distances with all that goes with them, and for the algorithm's workspace.
struct memory_bounds {
  std::int64_t corpus, tile, workspace;
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
  bool by_pairs = false;  // then resident, and the queries are cut as the corpus is
  // Half of the product was asked for, and this is why the whole one is taken.
  std::string whole_product_because;
  std::int64_t tile_queries = 0;     // of a tile, at most
  std::int64_t pitch = 0;            // of rows of distances
  std::int64_t candidate_pitch = 0;  // of rows of candidates: room for two times `kept`

  // Tiles of queries whose candidates are kept at once.
  std::int64_t groups() const { return by_pairs ? corpus.parts : 1; }
};

// Throws error(failure::unsupported) where the algorithm cannot select so many from any tile.
knn_plan make_plan(const knn_request& request, const device& place, const memory_bounds& limit);

}  // namespace kselect
