#pragma once
// Memory of an executor for the answers of a search: [queries][k] indices, distances, and the
// numbers that rank them.

#include <cstdint>

#include "runtime/backend/backend.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/finish.cuh"

namespace kselect::search {

struct answer_memory {
  device_buffer indices, distances, exact;

  // For so many numbers. The memory grows but is kept; if it grows, what it held is lost.
  void reserve(backend& place, std::int64_t size) {
    if (exact.size() >= static_cast<std::size_t>(size) * sizeof(double)) return;
    *this = {};  // freed before the larger ones are allocated
    indices = fused::make<std::int64_t>(place, size);
    distances = fused::make<float>(place, size);
    exact = fused::make<double>(place, size);
  }
  // `root`: the distances are euclidean, whose squares rank.
  fused::answers answers(std::int64_t k, bool root) const {
    return {.indices = fused::view<std::int64_t>(indices),
            .distances = fused::view<float>(distances),
            .exact = fused::view<double>(exact),
            .k = k,
            .root = root};
  }
};

}  // namespace kselect::search
