#pragma once
// k-NN on executors whose memory is the host's: cpu and fiber.

#include <functional>

#include "search/knn/knn.hpp"

namespace kselect::search {

// As knn(), for a request that has been checked.
void knn_on_host(const knn_request& request, backend& place,
                 const std::function<void(const knn_block&)>& sink);

}  // namespace kselect::search
