#include "search/knn/host/knn_on_host.hpp"

#include <algorithm>

#include "harness/select/select_rows.hpp"
#include "search/knn/host/search_in_blocks.hpp"

namespace kselect::search {

void knn_on_host(const knn_request& r, backend& place,
                 const std::function<void(const knn_block&)>& sink) {
  const int threads = place.description().threads;
  host_stage_watch watch(r.on_host);
  const prepared_corpus corpus(r.base.view(), r.base.source, r.metric, threads);
  watch.ended(&host_knn_report::prepare);
  // The k least values of each row, proven.
  const auto select = [&](const float* rows, std::int64_t count, std::int64_t length,
                          float* least) {
    problem p;
    p.n = length;
    p.k = r.k;
    p.q = count;
    p.index = preferred_index(r.entry);
    const selection nearest =
        select_rows(r.entry, p, {reinterpret_cast<const std::byte*>(rows), p.input_bytes()}, place);
    std::copy_n(reinterpret_cast<const float*>(nearest.values.data()), count * r.k, least);
  };
  const host_request request{.queries = r.queries().view(),
                             .name = r.queries().source,
                             .k = r.k,
                             .first_own = r.exclude_self ? 0 : -1,
                             .filter = r.filter,
                             .threads = threads,
                             .block_bytes = r.block_bytes,
                             .most_block = r.most_block,
                             .copies = r.entry.promises.modifies_input ? 2 : 1,
                             .report = r.on_host};
  search_in_blocks(corpus, request, select, [&](const host_block& found) {
    sink({.first = found.first,
          .count = found.count,
          .indices = found.indices,
          .distances = found.distances,
          .ranked = found.ranked});
  });
}

}  // namespace kselect::search
