#pragma once
// Starts a pass of the filter, by either of its bodies.

#include "runtime/backend/backend.hpp"
#include "search/knn/fused/filter.cuh"
#include "search/knn/fused/plan.hpp"
#include "search/search.hpp"

namespace kselect::search::fused {

// The architecture that the filter's code for a GPU was compiled for; 0: unknown, or no GPU.
int filter_compiled_for(const device& place);

// Whether this program has the wgmma body.
bool wgmma_is_built();

// Enqueues one pass over `splits` parts. `body`: not `fastest`. A matrix is by mma_sync alone.
// Maxima count vectors that queries leave out each for itself.
// Throws error(failure::unsupported) for a body that the place or this program does not have.
void filter(backend& place, output wanted, const filter_args& args, int splits, product_body body);

// Enqueues the pass of a graph over all pairs of args.last_tile tiles, of which each is multiplied
// once: queries and corpus are the same, a block's part has args.part tiles, every position has a
// limit in args.thresholds and one list, which is empty.
void filter_pairs(backend& place, const filter_args& args, product_body body);

}  // namespace kselect::search::fused
