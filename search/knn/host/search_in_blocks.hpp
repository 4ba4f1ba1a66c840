#pragma once
// A search on the host, a block of queries after the other, so that what a search holds does not
// grow with their number. The program and the library differ in how they select a block's first
// thresholds.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "kselect/knn_filter.hpp"
#include "search/knn/host/host_report.hpp"
#include "search/knn/host/prepared_corpus.hpp"
#include "search/search.hpp"

namespace kselect::search {

struct host_request {
  vector_view queries;
  std::string name;  // of the queries, in messages
  std::int64_t k = 0;
  std::int64_t first_own = -1;  // not negative: query i leaves out corpus vector first_own + i
  knn_filter filter = {};       // in the host's memory
  int threads = 1;
  std::int64_t block_bytes = std::int64_t{256} << 20;  // held at once for the queries of a block
  std::int64_t most_block = 0;                         // queries of a block; 0: as block_bytes says
  std::int64_t copies = 1;            // of the rows that a selection reads: 2 if it changes them
  host_knn_report* report = nullptr;  // adds to it
};

// The answers of `count` queries from `first` on, [count][k], nearest first, equal ones by index.
// Where a query may return fewer than k vectors, the rest has index -1 and infinity.
struct host_block {
  std::int64_t first, count;
  std::span<const std::int64_t> indices;
  std::span<const double> ranked;    // squared distances of the images
  std::span<const float> distances;  // in the corpus' metric, rounded to float32
};

// From `count` rows of `length` float32 values without NaN, the k least of each, in any order, to
// least[count][k].
using select_least =
    std::function<void(const float* rows, std::int64_t count, std::int64_t length, float* least)>;

// Calls `sink` for each block in order. Throws error(failure::input) if a component of a query is
// not finite, and error(failure::resources) or std::bad_alloc without the memory for a block.
void search_in_blocks(const prepared_corpus& corpus, const host_request& request,
                      const select_least& select,
                      const std::function<void(const host_block&)>& sink);

}  // namespace kselect::search
