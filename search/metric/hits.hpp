#pragma once
// Hits of a range search in the order of an answer. Kernels leave those of a batch unordered.

#include <span>

#include "search/metric/metric.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// Hit h is `entries[h]`, of query `queries[h]` of the batch.
struct unordered_hits {
  raw_vector<std::uint32_t> queries;
  raw_vector<entry> entries;
};

// Appends the answers of `count` queries: each one's hits by distance, then object. `answer` has
// starts, of which the first is 0. `threads`: at most so many do it.
void append_hits(range_answer& answer, std::int64_t count, const unordered_hits& hits, int threads);

}  // namespace kselect::search::metric_space
