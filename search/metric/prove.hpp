#pragma once
// Proofs of answers against exhaustive search. The host computes the distances of a query to all
// objects and checks the answer against that row alone: k-NN by the certificate of every selection
// (harness/verify), a range search object by object.

#include <cstdint>
#include <span>
#include <string>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// The answer to some of the queries, as if these alone had been asked.
knn_answer part_of(const knn_answer& answer, std::span<const std::int64_t> queries);
range_answer part_of(const range_answer& answer, std::span<const std::int64_t> queries);

// Empty if the answer is right, else the error of the first wrong query. Memory: one row of
// distances for each thread. `watch` hears of queries; a proof that it ends throws its error.
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     const knn_answer& answer, int threads, job_watch* watch = nullptr);
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     float radius, const range_answer& answer, int threads,
                     job_watch* watch = nullptr);

}  // namespace kselect::search::metric_space
