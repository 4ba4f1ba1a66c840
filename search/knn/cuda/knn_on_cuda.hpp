#pragma once
// `knn` on a GPU: distances and selection tile by tile in bounded device memory, for any number of
// queries and any size of the corpus.
//
// Distances are those of the CPU path: computed in float64 from the vectors and rounded once. The
// neighbours are also the same, except for ties at the k-th rounded distance. Candidates are
// selected by float32 products. If they cannot be proven to contain the nearest vectors of a query,
// it is done again in float64. (Not with request.cuda.tf32; the report counts these queries.)

#include <functional>

#include "search/knn/cuda/plan.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// Does what knn() documents; knn() has checked the request. `place` is a CUDA backend. Also throws
// error(failure::unsupported) for more than 2^32 - 1 base vectors.
void knn_on_cuda(const knn_request& request, backend& place,
                 const std::function<void(const knn_block&)>& sink);

// The bounds that follow from the options and from the memory that is free now on the calling
// thread's GPU.
memory_bounds device_memory(const cuda_knn_options& options);

}  // namespace kselect::search
