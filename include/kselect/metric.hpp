#pragma once
// The distances between dense vectors that k-NN searches know.
//
//     sqeuclidean    the sum of squared differences
//     euclidean      its square root
//     cosine         1 - x.y / (|x| |y|)
//     pearson        the same of vectors that are moved by the mean of their components
//     inner_product  -x.y: the nearest vector has the largest product
//
// A vector without a direction (of zeros; for pearson, of equal components) has distance 1 to all
// vectors in cosine and pearson, as in scikit-learn.

#include <array>
#include <cstdint>

#include "kselect/names.hpp"

namespace kselect {

enum class metric : std::uint8_t { sqeuclidean, euclidean, cosine, pearson, inner_product };

constexpr auto names_of(metric) {
  return std::to_array<named<metric>>({{metric::sqeuclidean, "sqeuclidean"},
                                       {metric::euclidean, "euclidean"},
                                       {metric::cosine, "cosine"},
                                       {metric::pearson, "pearson"},
                                       {metric::inner_product, "inner_product"}});
}

}  // namespace kselect
