#pragma once
// A k-NN graph whose pairs of vectors are dealt to the ranks, so that each is multiplied once.
//
// Every rank prepares the whole corpus and takes its share of the pairs of tiles
// (search/knn/fused/certain.cuh). It then has the nearest of what it met for every vector. The
// union of all ranks' answers has each vector's k nearest, if k of them are certain. What is not
// is searched again by the rank that it belongs to, among all vectors.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/shard_search.hpp"

namespace kselect::search {

// Which of a job's ranks; vector v belongs to the rank whose part it is in (first_of_rank).
struct rank_of {
  int rank, ranks;
};

// What a rank can do there.
struct pairs_offer {
  std::string why_not;  // empty if it can take its share
  std::string dealing;  // what decides which blocks there are, in words; ranks need the same
};
pairs_offer offer_pairs(const tiled_request& request, std::int64_t vectors, std::int64_t dimension,
                        int ranks, const backend& place);

class shard_of_graph : public shard_search {
 public:
  // After load(): how many of each vector's answers are certain, among all vectors.
  virtual std::vector<std::int32_t> certain() const = 0;
  // A hash of all limits. Vectors are ordered by them, so it has to be equal on all ranks.
  virtual std::uint64_t dealing() const = 0;
  // Searches these vectors again, among all, so that their answers are complete.
  virtual void search_again(const std::vector<std::int64_t>& vectors) = 0;
};

// Collective, after load(): compares dealing(), adds up what all ranks are certain of, and has each
// rank search again those of its vectors that lack some of `wanted` answers.
void complete_graph(shard_of_graph& graph, communicator& ranks, std::int64_t vectors,
                    std::int64_t wanted);

// The corpus is read in tiles of `tile` vectors. All arguments must outlive the search.
std::unique_ptr<shard_of_graph> open_graph_shard(const tiled_request& request,
                                                 const vector_files& base, const rank_of& which,
                                                 std::int64_t tile, backend& place);

}  // namespace kselect::search
