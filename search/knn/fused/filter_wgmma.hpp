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

// Whether the body by slabs has it; else mma_sync does it.
inline bool has_by_slabs(output wanted, const filter_args& args) {
  return wanted == output::maxima || (wanted == output::scored && !args.allowed.each());
}
// The same by product_body::wgmma_slabs, for what has_by_slabs.
status filter_by_slabs(const executor& where, output wanted, const filter_args& args, int splits);

}  // namespace kselect::search::fused
