#pragma once
// The queries that a proof of a sample checks.

#include <cstdint>
#include <vector>

namespace kselect::search {

// Numbers of queries: the first, the last, some between, evenly; all if there are at most `most`.
std::vector<std::int64_t> sampled_queries(std::int64_t queries, std::int64_t most);

}  // namespace kselect::search
