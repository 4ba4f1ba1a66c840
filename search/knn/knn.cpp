#include "search/knn/knn.hpp"

#include "runtime/error.hpp"
#include "search/knn/fused/knn_by_products.hpp"
#include "search/knn/host/knn_on_host.hpp"
#include "search/knn/possible.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/cuda/knn_on_cuda.hpp"
#endif

namespace kselect::search {
namespace {

void check(const knn_request& r) {
  if (r.exclude_self && r.query != nullptr) {
    throw error(failure::usage, "exclude_self is for queries that are the base vectors");
  }
  const vector_set& queries = r.queries();
  require_possible({r.base.source, r.base.count, r.base.dimension},
                   {queries.source, queries.count, queries.dimension}, r.k, r.exclude_self);
}

}  // namespace

void knn(const knn_request& r, backend& place, const std::function<void(const knn_block&)>& sink) {
  check(r);
  if (r.queries().count == 0) return;
  std::string because;  // why `auto` does not take products in float16
  if (asks_for_products(r, place.description())) {
    because = knn_by_products(r, place, sink);
    if (because.empty()) return;
  }
#if KSELECT_HAS_CUDA
  if (place.description().kind == executor_kind::cuda) {
    require_older_products(r.metric, r.filter.words != nullptr);
    knn_on_cuda(r, place, sink);
    if (r.report != nullptr) r.report->other_because = because;
    return;
  }
#endif
  knn_on_host(r, place, sink);
}

}  // namespace kselect::search
