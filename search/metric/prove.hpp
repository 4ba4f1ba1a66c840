#pragma once
// Proofs of answers against exhaustive search: the distances of a query to all objects are computed
// on the host, and the answer is checked against that row alone, by the certificate that every
// selection must pass (harness/verify) or, for a range, object by object.

#include <string>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// Empty if right, else what is wrong with the first wrong query. Memory: a row of distances for
// each thread.
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     const knn_answer& answer, int threads);
std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     float radius, const range_answer& answer, int threads);

}  // namespace kselect::search::metric_space
