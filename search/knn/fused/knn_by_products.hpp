#pragma once
// `knn` by the fused search, for vectors that the memory of the executor holds.

#include <functional>
#include <string>

#include "search/knn/fused/fused_search.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

namespace fused {
// Where the times of `knn` count a stage.
constexpr double cuda_knn_times::*time_of(stage s) {
  switch (s) {
    case stage::prepare:
      return &cuda_knn_times::prepare;
    case stage::round:
      return &cuda_knn_times::norms;
    case stage::threshold:
      return &cuda_knn_times::threshold;
    case stage::product:
      return &cuda_knn_times::distance;
    case stage::finish:
      return &cuda_knn_times::order;
    case stage::again:
    case stage::by_float64:
      break;
  }
  return &cuda_knn_times::redo;
}
}  // namespace fused

// Whether request and place ask for it: by name, or because request.product is automatic, the place
// is a GPU, and no option belongs to another way.
bool asks_for_products(const knn_request& request, const device& place);

// Does what knn() documents; knn() has checked the request. Every answer is proven, whatever
// request.cuda.prove says. Returns an empty text, or, before any call of the sink, why not, if
// request.product is automatic and this place or its memory cannot do it, or products would not
// filter; otherwise throws error(failure::unsupported) or error(failure::resources).
std::string knn_by_products(const knn_request& request, backend& place,
                            const std::function<void(const knn_block&)>& sink);

}  // namespace kselect::search
