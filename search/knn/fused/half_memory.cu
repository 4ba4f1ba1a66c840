#include "search/knn/fused/half.cuh"
#include "search/knn/fused/search_memory.hpp"

namespace kselect::search::fused {

void half_memory::begin(backend& place, const prepared_corpus& corpus,
                        global<std::uint32_t> unproven) const {
  start<half_start_kernel>(
      place, blocks_for(padded, half_start_kernel::max_threads),
      {corpus.vectors(), corpus.count(), padded, corpus.facts(),
       sum_error(corpus.dimension(), corpus.factors(), 2), view<corpus_facts>(facts),
       view<float>(given.starts), view<double>(given.offsets), view<std::uint32_t>(counts),
       unproven, buckets()});
}

void half_memory::order(backend& place, const prepared_corpus& corpus) const {
  const std::int64_t count = corpus.count();
  const auto of = [](const sides& s, const rounded& vectors) {
    return pair_sides{vectors, view<float>(s.starts), view<float>(s.limits),
                      view<double>(s.offsets)};
  };
  start<half_limit_kernel>(
      place, blocks_for(padded, half_limit_kernel::max_threads),
      {view<const float>(given.starts), view<float>(given.limits), padded, count, buckets()});
  start<count_limits_kernel>(place, blocks_for(count, count_limits_kernel::max_threads),
                             {view<const float>(given.limits), count, buckets()});
  start<place_buckets_kernel>(place, 1, {buckets()});
  start<order_by_limits_kernel>(place, blocks_for(padded, order_by_limits_kernel::warps),
                                {of(given, corpus.vectors()),
                                 of(ordered, vectors()),
                                 {view<std::int32_t>(ids), view<float>(bounds)},
                                 corpus.order(),
                                 padded,
                                 count,
                                 slabs,
                                 buckets()});
}

}  // namespace kselect::search::fused
