#pragma once
// What the ranks agree on of the tiles of a search, beside their length.

#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/tiled_request.hpp"

namespace kselect::search {

struct tile_agreement {
  bool streams = false;          // a rank searches by products, but its part is not in memory
  bool short_ends = false;       // query_cut.hpp
  std::int64_t list_length = 0;  // neighbours of a rank's list of a query
};

// Collective, of the ranks' shards of `n` vectors. `by_pairs`: of a graph whose pairs they divide.
tile_agreement agree_on_tiles(const tiled_request& request, std::int64_t n,
                              const shard_search& shard, bool by_pairs, communicator& ranks);

}  // namespace kselect::search
