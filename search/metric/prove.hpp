#pragma once
// Proofs of answers against exhaustive search. The host computes the distances of a query to all
// objects and checks the answer against that row alone: k-NN by the certificate of every selection
// (harness/verify), a range search object by object.

#include <string>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// Empty if the answer is right, else the error of the first wrong query. Memory: one row of
// distances for each thread.
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     const knn_answer& answer, int threads);
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     float radius, const range_answer& answer, int threads);

}  // namespace kselect::search::metric_space
