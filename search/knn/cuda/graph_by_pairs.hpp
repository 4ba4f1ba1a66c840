#pragma once
// The k-NN graph of a resident corpus with half of the product (Komarov et al. 2014, "Distance
// Calculation": the dot products of Y with X are those of X with Y, transposed).
//
// The corpus is cut into T tiles. For each pair i <= j the product is computed once: it ranks tile
// j for the queries of tile i and, transposed, tile i for those of tile j. That makes T (T + 1) / 2
// products instead of T^2, and those on the diagonal are halves themselves. The price: the
// candidates of all queries are kept until the last pair.

#include <functional>

#include "search/knn/knn.hpp"

namespace kselect::search {

class knn_stages;

// `work` must be planned by_pairs. Calls `sink` as knn does, after all pairs are done.
void graph_by_pairs(knn_stages& work, const std::function<void(const knn_block&)>& sink);

}  // namespace kselect::search
