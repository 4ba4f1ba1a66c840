#pragma once
// The ceiling of products in float16: the rate of a plain matrix product on the same GPU, in the
// same run.
//
// cuBLAS multiplies two 8192 x 8192 matrices of float16 with sums in float32. Such a product reads
// and writes little for its size, so tensor cores limit it. The product of Q queries and n vectors
// itself is no measure: writing its result takes longer than computing it.

#include "runtime/backend/backend.hpp"
#include "search/search.hpp"

namespace kselect::search {

inline constexpr int product_rate_size = 8192;  // rows and columns

// Operations a second, two for each multiplication and addition; the median of several products.
// 0: executors of the host, which have no tensor cores. Throws error(failure::resources) if 384 MiB
// of the GPU's memory are not free.
double measure_product_rate(backend& place);

}  // namespace kselect::search
