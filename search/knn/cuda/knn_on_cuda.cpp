// Chooses between rows and pairs, and drives the work by rows: one tile of queries against all
// corpus tiles in turn.

#include "search/knn/cuda/knn_on_cuda.hpp"

#if KSELECT_HAS_CUDA

#include <algorithm>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/cuda/graph_by_pairs.hpp"
#include "search/knn/cuda/plan.hpp"
#include "search/knn/cuda/stages.hpp"

namespace kselect::search {
namespace {

void rank(knn_stages& work, const query_rows& queries) {
  distance_rows& distances = work.distances();
  const std::int64_t pitch = work.plan().pitch;
  work.forget(0);
  work.each_tile([&](const vectors_on_device& tile, std::int64_t first) {
    if (work.request().cuda.repeats > 0) {
      work.watch().time(&cuda_knn_times::bare_product,
                        [&] { distances.product_only(queries.vectors, tile, work.rows(), pitch); });
    }
    work.watch().time(&cuda_knn_times::distance,
                      [&] { distances.multiply(queries.vectors, tile, work.rows(), pitch); });
    work.select(0, work.rows(), queries, tile, first);
  });
}

void answer_by_rows(knn_stages& work, const std::function<void(const knn_block&)>& sink) {
  const std::int64_t all = work.request().queries().count;
  const int repeats = std::max(1, work.request().cuda.repeats);
  for (std::int64_t first = 0; first < all; first += work.plan().tile_queries) {
    const std::int64_t count = std::min(work.plan().tile_queries, all - first);
    work.load_queries(first, count);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      work.begin(repeat);
      if (first == 0) work.summarise_corpus();
      work.summarise_queries(count);
      const query_rows queries = work.queries(first, count);
      rank(work, queries);
      work.answer(0, queries, repeat);
      work.add_times(repeat);
    }
    work.deliver(first, count, sink);
  }
}

}  // namespace

memory_bounds device_memory(const cuda_knn_options& o) {
  if (o.memory_bytes != 0) return split_memory(o.memory_bytes);
  std::size_t available = 0, total = 0;
  require_cuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  return split_free_memory(static_cast<std::int64_t>(available));
}

void knn_on_cuda(const knn_request& r, backend& place,
                 const std::function<void(const knn_block&)>& sink) {
  if (r.base.count >= std::int64_t{1} << 32) {
    throw error(failure::unsupported,
                fmt::format("{} has {} vectors; executor cuda takes fewer than 2^32", r.base.source,
                            r.base.count));
  }
  knn_stages work(r, place, make_plan(r, place.description(), device_memory(r.cuda)),
                  in_memory(r.base.view()));
  if (work.plan().by_pairs) {
    graph_by_pairs(work, sink);
  } else {
    answer_by_rows(work, sink);
  }
  if (r.report == nullptr) return;
  *r.report = work.report();
  r.report->product = r.cuda.tf32 ? knn_product::tf32 : knn_product::float32;
}

}  // namespace kselect::search

#endif
