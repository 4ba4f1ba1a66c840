#include "search/knn/cuda/best_candidates.hpp"

#if KSELECT_HAS_CUDA

#include <utility>

#include "runtime/distance/cuda/device_array.hpp"
#include "search/knn/cuda/stopwatch.hpp"

namespace kselect::search {

best_candidates::best_candidates(backend& place, std::int64_t groups, std::int64_t rows,
                                 std::int64_t pitch)
    : stream_(place.executor().stream) {
  const std::int64_t all = rows_for(groups, rows) * pitch;
  ranked_ = make_array<float>(place, all);
  index_ = make_array<std::int64_t>(place, all);
  exact_ = make_array<double>(place, all);
  const auto set_at = [&](std::int64_t group) {
    const std::int64_t at = group * rows * pitch;
    return candidates{as<float>(ranked_) + at, as<std::int64_t>(index_) + at,
                      as<double>(exact_) + at, pitch};
  };
  for (std::int64_t group = 0; group < groups; ++group) sets_.push_back({set_at(group), true});
  spare_ = set_at(groups);
}

void best_candidates::add(std::int64_t group, const selected& found, const query_rows& queries,
                          const vectors_on_device& tile, std::int64_t first,
                          proven_selection& selection, stopwatch& watch) {
  set& mine = sets_[static_cast<std::size_t>(group)];
  const std::int64_t kept = found.kept;
  watch.time(&cuda_knn_times::order, [&] {
    place_candidates(found, queries, tile, first, mine.held, mine.empty ? 0 : kept, stream_);
  });
  if (std::exchange(mine.empty, false)) return;
  watch.time(&cuda_knn_times::merge, [&] {
    const selected best = selection.run(mine.held.ranked, queries.rows, 2 * kept, mine.held.pitch);
    gather_candidates(best, queries.rows, mine.held, spare_, stream_);
  });
  std::swap(mine.held, spare_);
}

}  // namespace kselect::search

#endif
