#pragma once
// Queries whose neighbours are found by float64 distances to the whole corpus.

#include <algorithm>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/exact.cuh"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/memory_plan.hpp"

namespace kselect::search::fused {

class float64_search {
 public:
  // `queries`: the images of all. `first_own`: as in finish_kernel. What is referred to must
  // outlive this object.
  float64_search(backend& place, const prepared_corpus& corpus, const image_source& queries,
                 std::int64_t first_own, const admitted& allowed, const answers& to)
      : place_(place),
        corpus_(corpus),
        queries_(queries),
        first_own_(first_own),
        allowed_(allowed),
        to_(to) {}

  // Allocates, and waits until the answers of these queries are complete. The distances of at most
  // `most` queries are held at once (float64_rows).
  void run(const numbering& queries, std::int64_t rows, std::int64_t most) {
    const std::int64_t n = corpus_.count();
    const std::int64_t at_once = std::min(rows, most);
    const device_buffer distances = make<double>(place_, at_once * n);
    const device_buffer values = make<double>(place_, at_once * to_.k);
    const device_buffer indices = make<std::int32_t>(place_, at_once * to_.k);
    problem p;
    p.q = at_once;
    p.n = n;
    p.k = to_.k;
    p.type = dtype::float64;
    chosen_selection nearest(place_, p, settled);
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = std::min(at_once, rows - first);
      numbering some = queries;
      some.count = count;
      if (some.ids.data == nullptr) {
        some.first += first;
      } else {
        some.ids = {queries.ids.data + first, count};
      }
      measure(some, count, view<double>(distances));
      nearest.run(place_, count, {distances.data(), values.data(), indices.data()});
      start<place_kernel>(
          place_, blocks_for(count * to_.k, place_kernel::max_threads),
          {some, count, view<const double>(values), view<const std::int32_t>(indices), to_});
    }
    require(place_.synchronise());
  }

 private:
  void measure(const numbering& queries, std::int64_t rows, global<double> distances) {
    const auto with = [&]<class Kernel>(Kernel) {
      const typename Kernel::args args{.queries = queries_,
                                       .corpus = corpus_.source(),
                                       .query_of = queries,
                                       .rows = rows,
                                       .count = corpus_.count(),
                                       .vectors_a_block = 256,
                                       .distances = distances,
                                       .first_own = first_own_,
                                       .allowed = allowed_};
      start<Kernel>(
          place_, blocks_for(rows, Kernel::together) * blocks_for(args.count, args.vectors_a_block),
          args);
    };
    if (corpus_.measure() == metric::inner_product) return with(exact_kernel_of<true>{});
    with(exact_kernel_of<false>{});
  }

  backend& place_;
  const prepared_corpus& corpus_;
  const image_source& queries_;
  const std::int64_t first_own_;
  const admitted& allowed_;
  const answers& to_;
};

}  // namespace kselect::search::fused
