#pragma once
// A part of the corpus that the fused search searches (search/knn/fused): on a GPU, and on fibers.
//
// Each tile of the corpus is prepared in the executor's memory and searched for all queries of a
// tile. If all tiles fit there, they are read once, in the first pass, and are one corpus. What
// orders a tile's neighbours, the float64 number of a pair, also merges tiles and ranks. It depends
// on the pair alone, so the answer has the same bits as that of a search in memory.

#include <cstdint>
#include <memory>
#include <string>

#include "search/knn/tiled/shard_search.hpp"

namespace kselect::search {

namespace fused {
struct answers;
}

// Downloads the answers of as many queries as `to` has, from query `first` on, as its lists.
// `offset` is added to their indices. Beside the search (backend::to_host_beside).
void bring_lists(backend& place, const fused::answers& from, std::int64_t first,
                 std::int64_t offset, neighbour_lists& to);

// How a shard is cut for the memory of its executor.
struct product_tile_bounds {
  std::int64_t queries;       // the most of a tile
  std::int64_t corpus_tile;   // the most vectors of a tile
  bool resident;              // all tiles stay in the executor's memory
  std::int64_t search_bytes;  // for the search of one tile
};

// Numbers alone: `bytes` of memory for `vectors` vectors and up to `queries` queries. A quarter, or
// `least_search` bytes, is for the search. Of the rest two thirds are for the corpus, one for
// queries and answers. Throws error(failure::resources) if the smallest tiles do not fit.
product_tile_bounds bound_product_tiles(std::int64_t bytes, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        std::int64_t k, std::int64_t least_search = 0);
// The same for what the request allows of the executor's memory, or what is free there.
product_tile_bounds bound_product_tiles(const tiled_request& request, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        const backend& place);

// Whether `--product auto` means the fused search there, if nothing speaks against it: as the
// function of that name for a search in memory (search/knn/fused/knn_by_products.hpp).
bool asks_for_products(const tiled_request& request, const device& place);

// What `--product auto` takes then: int8 where all files hold bytes of the same type and integers
// are faster there, as in memory; else float16. All ranks see the same files.
knn_product product_of_files(const tiled_request& request, const vector_files& base,
                             const vector_files& queries, const device& place);

// Why `--product auto` searches `vectors` vectors of this rank another way; empty if the fused
// search can. `bytes`: of the executor's memory.
std::string why_not_products(const tiled_request& request, std::int64_t vectors,
                             std::int64_t queries, std::int64_t dimension, const device& place,
                             std::int64_t bytes);
std::string why_not_products(const tiled_request& request, std::int64_t vectors,
                             std::int64_t queries, std::int64_t dimension, const backend& place);

// Whether products filter the search of so many vectors for all k, with some of `bytes` to spare: a
// search for fewer neighbours then needs no more.
bool filters_with_room(const tiled_request& request, std::int64_t vectors, std::int64_t queries,
                       std::int64_t dimension, std::int64_t bytes, const device& place);

// Opens vectors [first, end) of `base`, in tiles of at most `tile`, for up to `queries` at a time.
// Throws error(failure::unsupported) where the fused search cannot run.
std::unique_ptr<shard_search> open_product_shard(const tiled_request& request,
                                                 const vector_files& base, std::int64_t first,
                                                 std::int64_t end, std::int64_t tile,
                                                 std::int64_t queries, backend& place);

}  // namespace kselect::search
