#include "search/knn/host/search_in_blocks.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "search/knn/host/block_search.hpp"

namespace kselect::search {
namespace {

// The memory of a block, used again for the next.
class block_memory {
 public:
  block_memory(std::int64_t queries, std::int64_t k, std::int64_t seeds)
      // Not initialised: the threads that write the rows touch them first.
      : rows(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(queries * seeds))),
        least(static_cast<std::size_t>(queries * k)),
        ranked(least.size()),
        indices(least.size()),
        distances(least.size()) {}
  std::unique_ptr<float[]> rows;
  std::vector<float> least;
  std::vector<double> ranked;
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
};

// Ranked distances as the metric has them, rounded.
void round_distances(block_memory& memory, std::size_t neighbours, metric of) {
  for (std::size_t i = 0; i < neighbours; ++i) {
    memory.distances[i] = static_cast<float>(distance_of(memory.ranked[i], of));
  }
}

std::int64_t queries_of_block(const prepared_corpus& corpus, const host_request& r) {
  const std::int64_t a_query = block_bytes_per_query(corpus.count(), r.k, r.copies);
  const std::int64_t most = r.most_block == 0 ? r.queries.count : r.most_block;
  return std::clamp<std::int64_t>(r.block_bytes / a_query, 1, std::min(most, r.queries.count));
}

}  // namespace

void search_in_blocks(const prepared_corpus& corpus, const host_request& r,
                      const select_least& select,
                      const std::function<void(const host_block&)>& sink) {
  const std::int64_t seeds = seed_length(corpus.count(), r.k);
  const std::int64_t block = queries_of_block(corpus, r);
  host_stage_watch watch(r.report);
  block_memory memory(block, r.k, seeds);
  for (std::int64_t first = 0; first < r.queries.count; first += block) {
    const std::int64_t count = std::min(block, r.queries.count - first);
    const moved_vectors queries =
        corpus.move({r.queries.data + first * r.queries.dimension, count, r.queries.dimension},
                    r.name, r.threads);
    block_search search(corpus, queries, r.k, r.first_own < 0 ? -1 : r.first_own + first,
                        r.filter.from(first), r.threads);
    watch.ended(&host_knn_report::prepare);
    search.rows(memory.rows.get());
    watch.ended(&host_knn_report::distance);
    select(memory.rows.get(), count, seeds, memory.least.data());
    watch.ended(&host_knn_report::selection);
    search.begin(memory.rows.get(), memory.least.data());
    search.sweep();
    watch.ended(&host_knn_report::filter);
    search.finish(memory.ranked.data(), memory.indices.data());
    const auto neighbours = static_cast<std::size_t>(count * r.k);
    round_distances(memory, neighbours, corpus.metric());
    watch.ended(&host_knn_report::order);
    if (r.report != nullptr) {
      r.report->compared += search.compared();
      r.report->doubled += search.doubled();
    }
    sink({.first = first,
          .count = count,
          .indices = std::span(memory.indices).first(neighbours),
          .ranked = std::span(memory.ranked).first(neighbours),
          .distances = std::span(memory.distances).first(neighbours)});
    watch.restart();
  }
}

}  // namespace kselect::search
