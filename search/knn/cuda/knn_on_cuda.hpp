#pragma once
// `knn` on a GPU: distances and selection tile by tile in bounded device memory, whatever the
// number of queries and the size of the corpus.
//
// The distances returned are those of the CPU path: float64 from the vectors, rounded once. So are
// the neighbours, up to ties of the rounded distance: what is selected by float32 products is
// proven to contain the nearest, and queries for which it cannot be are done again in float64 (not
// with request.cuda.tf32; the report counts them). Which of several neighbours at the very k-th
// distance are returned may differ between the two paths.

#include <functional>

#include "search/knn/cuda/plan.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// As knn, which has checked the request; `place` is a CUDA backend. Throws also
// error(failure::unsupported) for more than 2^32 - 1 base vectors.
void knn_on_cuda(const knn_request& request, backend& place,
                 const std::function<void(const knn_block&)>& sink);

// The bounds that these options stand for on the GPU of the calling thread, of what is free now.
memory_bounds device_memory(const cuda_knn_options& options);

}  // namespace kselect::search
