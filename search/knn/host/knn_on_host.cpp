#include "search/knn/host/knn_on_host.hpp"

#include <algorithm>
#include <vector>

#include "harness/select/select_rows.hpp"
#include "runtime/backend/host_memory.hpp"
#include "search/knn/host/block_search.hpp"
#include "search/knn/host/prepared_corpus.hpp"

namespace kselect::search {
namespace {

// Where the answer of a block goes.
struct block_answer {
  block_answer(std::int64_t queries, std::int64_t k)
      : ranked(static_cast<std::size_t>(queries * k)),
        indices(ranked.size()),
        distances(ranked.size()) {}
  std::vector<double> ranked;
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
};

class host_search {
 public:
  host_search(const knn_request& r, backend& place)
      : request_(r),
        place_(place),
        threads_(place.description().threads),
        corpus_(r.base.view(), r.base.source, r.metric, threads_),
        seeds_(seed_length(r.base.count, r.k)) {}

  void run(const std::function<void(const knn_block&)>& sink) {
    const vector_set& queries = request_.queries();
    const std::int64_t copies = request_.entry.promises.modifies_input ? 2 : 1;
    const std::int64_t a_query = block_bytes_per_query(corpus_.count(), request_.k, copies);
    const std::int64_t block =
        std::clamp<std::int64_t>(request_.block_bytes / a_query, 1, queries.count);
    const host_buffer rows(static_cast<std::size_t>(block * seeds_) * sizeof(float));
    block_answer answer(block, request_.k);
    for (std::int64_t first = 0; first < queries.count; first += block) {
      const std::int64_t count = std::min(block, queries.count - first);
      search(first, count, reinterpret_cast<float*>(rows.data()), answer);
      const auto neighbours = static_cast<std::size_t>(count * request_.k);
      sink({.first = first,
            .count = count,
            .indices = std::span(answer.indices).first(neighbours),
            .distances = std::span(answer.distances).first(neighbours),
            .ranked = std::span(answer.ranked).first(neighbours)});
    }
  }

 private:
  void search(std::int64_t first, std::int64_t count, float* rows, block_answer& answer) {
    const vector_set& all = request_.queries();
    const moved_vectors queries = corpus_.move(
        {all.data.data() + first * all.dimension, count, all.dimension}, all.source, threads_);
    block_search block(corpus_, queries, request_.k, request_.exclude_self ? first : -1, threads_);
    block.rows(rows);
    block.begin(rows, select(rows, count).data());
    block.sweep();
    block.finish(answer.ranked.data(), answer.indices.data());
    for (std::int64_t i = 0; i < count * request_.k; ++i) {
      const auto at = static_cast<std::size_t>(i);
      answer.distances[at] = static_cast<float>(distance_of(answer.ranked[at], request_.metric));
    }
  }

  // The k least values of each row, proven.
  std::vector<float> select(const float* rows, std::int64_t count) {
    problem p;
    p.n = seeds_;
    p.k = request_.k;
    p.q = count;
    p.index = preferred_index(request_.entry);
    const selection nearest = select_rows(
        request_.entry, p, {reinterpret_cast<const std::byte*>(rows), p.input_bytes()}, place_);
    const auto* const values = reinterpret_cast<const float*>(nearest.values.data());
    return {values, values + count * p.k};
  }

  const knn_request& request_;
  backend& place_;
  int threads_;
  prepared_corpus corpus_;
  std::int64_t seeds_;
};

}  // namespace

void knn_on_host(const knn_request& request, backend& place,
                 const std::function<void(const knn_block&)>& sink) {
  host_search(request, place).run(sink);
}

}  // namespace kselect::search
