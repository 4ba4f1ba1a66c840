#pragma once
// Exact k-nearest neighbours of real vectors: distances, then selection, a block of queries at a
// time, so that the Q x n distance matrix never has to exist as a whole.

#include <cstdint>
#include <functional>
#include <span>

#include "harness/backend/backend.hpp"
#include "harness/distance/distance.hpp"
#include "harness/io/vectors.hpp"
#include "kselect/algorithm.hpp"

namespace kselect {

struct knn_request {
  const vector_set& base;
  const vector_set* query = nullptr;  // null: every base vector is a query (the k-NN graph)
  bool exclude_self = false;          // with null query: a vector is not its own neighbour
  kselect::metric metric = kselect::metric::sqeuclidean;
  std::int64_t k = 0;
  const algorithm& entry;
  std::int64_t block_bytes = std::int64_t{256} << 20;  // distances held at once

  const vector_set& queries() const { return query == nullptr ? base : *query; }
};

// The neighbours of `count` queries from `first` on: indices into base and distances, count x k,
// nearest first, equal distances by ascending index.
struct knn_block {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::span<const std::int64_t> indices;
  std::span<const float> distances;
};

// Calls `sink` for each block in order; each block's selection is proven before. Throws
// error(failure::usage) if k is out of range or the dimensions differ, and what select_rows throws.
void knn(const knn_request& request, backend& place,
         const std::function<void(const knn_block&)>& sink);

}  // namespace kselect
