#pragma once
// What the repeats of a search on a GPU tell together.

#include <cstddef>
#include <cstdint>
#include <span>

#include "search/knn/knn.hpp"

namespace kselect::search {

// The repeats that count: all but the first, which loads kernels and grows workspaces, unless it is
// the only one.
std::span<const cuda_knn_times> counted(std::span<const cuda_knn_times> repeats);

// The median of each stage and of the total. The medians of stages need not add up to the total's.
struct median_times {
  cuda_knn_times stages;  // milliseconds
  double total = 0;
  std::size_t repeats = 0;  // in the medians
};
// `repeats`: at least one.
median_times medians_of(std::span<const cuda_knn_times> repeats);

// The part of `product_rate` (cuda/product_rate.hpp) at which `multiplied` pairs of vectors were
// searched in `seconds`; 0 if one of the numbers is.
double share_of_products(double multiplied, std::int64_t dimension, double seconds,
                         double product_rate);

}  // namespace kselect::search
