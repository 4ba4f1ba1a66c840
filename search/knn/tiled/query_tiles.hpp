#pragma once
// The tiles of queries of a search, one after the other, and what happens to each beside the
// search of another:
//
//     rank 0 reads the next queries, all ranks get them, and the executor, too;
//     the tile before is copied from the executor, exchanged, merged, and written by rank 0.
//
// Every rank posts the same errands in the same order (courier.hpp): bounds of a tile's neighbours
// while t is searched (bound_sharing.hpp); then the word whether to go on; then the queries of
// t + 2 and the lists of t, while t + 1 is searched. A search begins when the lists of the tile two
// before are through, so two tiles of queries and three of lists are held.
//
// Ranks' lists may be shorter than k (neighbours_of_list). If the merge of tile t shows that a few
// queries lack neighbours, these are searched again for all k before t + 2 is searched. If more do,
// the whole tile is searched again, and the lists of later tiles have k neighbours from the start.
// The rows of t + 1 are written after those of t.
//
// The search of t + 1 waits for the word. Where it takes a moment (shard_search::quick), it does
// not: the word comes while it runs. If ranks are to end, what it found is dropped.

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "runtime/io/vector_file.hpp"
#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/bound_sharing.hpp"
#include "search/knn/tiled/courier.hpp"
#include "search/knn/tiled/list_exchange.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/knn/tiled/query_cut.hpp"
#include "search/knn/tiled/result_store.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/times.hpp"

namespace kselect::search {

class query_tiles {
 public:
  struct parts {
    backend& place;
    communicator& ranks;
    const vector_files& queries;
    shard_search& shard;
    list_exchange& exchange;
    result_store* store;             // on rank 0, else null
    bool shares;                     // ranks tell each other bounds of a tile's neighbours
    std::function<bool()> stopping;  // whether this rank was asked to end
    std::function<void(std::int64_t queries_done)> finished;
  };
  // Allocates the lists and the queries. What `of` refers to, and `times`, must outlive
  // this object.
  query_tiles(const parts& of, const query_range& range, tiled_times& times);

  // Collective. Searches all tiles. On return all rows are written, and nothing calls the
  // communicator. Throws as knn_in_tiles does; what was finished is written then, if ranks were
  // asked to end.
  void run();

 private:
  // A tile whose lists are through.
  struct merged_tile {
    std::vector<std::int64_t> lacking;  // rows that are searched again
    bool waits = false;                 // its rows are not written yet
  };
  std::int64_t tiles() const { return cut_.tiles(); }
  vector_set& queries_of(std::int64_t tile) { return queries_[static_cast<std::size_t>(tile % 2)]; }
  std::future<void>& brought(std::int64_t tile) {
    return brought_[static_cast<std::size_t>(tile % 2)];
  }
  neighbour_lists& lists_of(std::int64_t tile) {
    return lists_[static_cast<std::size_t>(tile % 3)];
  }
  merged_tile& merged_of(std::int64_t tile) { return merged_[static_cast<std::size_t>(tile % 3)]; }

  // What the search posts and awaits.
  void ask_before(std::int64_t tile);
  void end_if_asked(std::int64_t tile);
  void await_lists(std::int64_t tile);
  void search(std::int64_t tile);
  void complete(std::int64_t tile);
  void search_again(std::int64_t tile, std::int64_t row, std::int64_t count);
  // Errands.
  void agree_before(std::int64_t tile);
  void bring_queries(std::int64_t tile);
  void read_queries(std::int64_t first, std::int64_t count, vector_set& set);
  void deliver(std::int64_t tile);
  void write(std::int64_t tile);
  void write_waiting(std::int64_t tile);
  void await_written();

  const parts of_;
  const query_cut cut_;
  tiled_times& times_;
  std::array<vector_set, 2> queries_;
  std::vector<neighbour_lists> lists_;
  const std::int64_t k_;
  std::int64_t list_length_;
  std::array<merged_tile, 3> merged_;
  int waiting_ = 0;                            // tiles whose rows wait; only errands use it
  std::array<std::function<void()>, 2> rest_;  // of a search, by tile
  std::array<std::future<void>, 2> through_;   // the lists of a tile
  std::array<std::future<void>, 2> brought_;   // the queries of a tile
  std::future<void> asked_;
  std::exception_ptr stopped_;  // ranks were asked to end
  std::future<void> writing_;
  bound_sharing sharing_;
  courier courier_;  // ends before what its errands use
};

}  // namespace kselect::search
