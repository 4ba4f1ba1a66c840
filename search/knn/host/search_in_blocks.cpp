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

// One block: its search, and what is known of it.
class block_run {
 public:
  block_run(const prepared_corpus& corpus, const host_request& r, std::int64_t seeds)
      : corpus_(corpus), r_(r), seeds_(seeds), watch_(r.report) {}

  // The answers of `count` queries from `first` on, which stay in `memory`.
  host_block run(std::int64_t first, std::int64_t count, const select_least& select,
                 block_memory& memory) {
    const std::int64_t d = r_.queries.dimension;
    const moved_vectors queries =
        corpus_.move({r_.queries.data + first * d, count, d}, r_.name, r_.threads);
    block_search search(corpus_, queries, r_.k, r_.first_own < 0 ? -1 : r_.first_own + first,
                        r_.filter.from(first), r_.threads);
    watch_.ended(&host_knn_report::prepare);
    filter(search, count, select, memory);
    const auto neighbours = static_cast<std::size_t>(count * r_.k);
    order(search, neighbours, memory);
    if (r_.report != nullptr) {
      r_.report->compared += search.compared();
      r_.report->doubled += search.doubled();
    }
    return {.first = first,
            .count = count,
            .indices = std::span(memory.indices).first(neighbours),
            .ranked = std::span(memory.ranked).first(neighbours),
            .distances = std::span(memory.distances).first(neighbours)};
  }
  // What came between blocks was not the search's.
  void restart() { watch_.restart(); }

 private:
  // From the first thresholds to lists of candidates.
  void filter(block_search& search, std::int64_t count, const select_least& select,
              block_memory& memory) {
    search.rows(memory.rows.get());
    watch_.ended(&host_knn_report::distance);
    select(memory.rows.get(), count, seeds_, memory.least.data());
    watch_.ended(&host_knn_report::selection);
    search.begin(memory.rows.get(), memory.least.data());
    search.sweep();
    watch_.ended(&host_knn_report::filter);
  }
  void order(block_search& search, std::size_t neighbours, block_memory& memory) {
    search.finish(memory.ranked.data(), memory.indices.data());
    for (std::size_t i = 0; i < neighbours; ++i) {
      memory.distances[i] = static_cast<float>(distance_of(memory.ranked[i], corpus_.metric()));
    }
    watch_.ended(&host_knn_report::order);
  }

  const prepared_corpus& corpus_;
  const host_request& r_;
  const std::int64_t seeds_;
  host_stage_watch watch_;
};

}  // namespace

void search_in_blocks(const prepared_corpus& corpus, const host_request& r,
                      const select_least& select,
                      const std::function<void(const host_block&)>& sink) {
  const std::int64_t seeds = seed_length(corpus.count(), r.k);
  const std::int64_t a_query = block_bytes_per_query(corpus.count(), r.k, r.copies);
  const std::int64_t most = r.most_block == 0 ? r.queries.count : r.most_block;
  const std::int64_t block =
      std::clamp<std::int64_t>(r.block_bytes / a_query, 1, std::min(most, r.queries.count));
  block_run one(corpus, r, seeds);
  block_memory memory(block, r.k, seeds);
  for (std::int64_t first = 0; first < r.queries.count; first += block) {
    sink(one.run(first, std::min(block, r.queries.count - first), select, memory));
    one.restart();
  }
}

}  // namespace kselect::search
