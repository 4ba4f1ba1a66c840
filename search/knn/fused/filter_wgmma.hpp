#pragma once
// The second body of the filter (filter.cuh), for compute capability 9.0: the same inputs, the same
// outputs, by products of whole warp groups. Compiled where nvcc makes code for 9.0.

#include "kselect/algorithm.hpp"
#include "search/knn/fused/filter.cuh"
#include "search/knn/fused/plan.hpp"

namespace kselect::search::fused {

// Enqueues a pass for output::scored, maxima or halves. The same prepared corpus and lists serve
// both bodies. `unsupported` for a GPU of another compute capability, and for vectors of more than
// most_slabs_of_wgmma slabs.
status filter_by_wgmma(const executor& where, output wanted, const filter_args& args, int splits);

// The same by product_body::wgmma_slabs, for output::scored without filters of each query and for
// maxima.
status filter_by_slabs(const executor& where, output wanted, const filter_args& args, int splits);

}  // namespace kselect::search::fused
