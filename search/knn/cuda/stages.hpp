#pragma once
// The stages of k-NN on a GPU and their memory. A driver (knn_on_cuda.cpp, graph_by_pairs.cpp,
// tiled/cuda/shard_on_gpu.cpp) decides the order in which queries and corpus tiles are combined.
// The rest is common: candidates are selected from distances, merged tile by tile, ordered by true
// distance and judged. A query is done again in float64 if nearer vectors may have been left out.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/distance/cuda/distance_rows.hpp"
#include "search/knn/cuda/best_candidates.hpp"
#include "search/knn/cuda/candidates.hpp"
#include "search/knn/cuda/corpus_tiles.hpp"
#include "search/knn/cuda/plan.hpp"
#include "search/knn/cuda/proven_selection.hpp"
#include "search/knn/cuda/stopwatch.hpp"
#include "search/search.hpp"

namespace kselect::search {

// The numbers at these places.
std::vector<std::int32_t> those_of(const std::vector<std::int32_t>& numbers,
                                   const std::vector<std::int32_t>& places);

class knn_stages {
 public:
  // Allocates everything. `request` and `place`, a CUDA backend, must outlive this object. The
  // corpus comes from `source`; of request.base only the count and the dimension are used.
  knn_stages(const knn_request& request, backend& place, knn_plan plan, corpus_source source);

  const knn_request& request() const { return request_; }
  const knn_plan& plan() const { return plan_; }
  corpus_tiles& corpus() { return corpus_; }
  const corpus_tiles& corpus() const { return corpus_; }
  distance_rows& distances() { return distances_; }
  stopwatch& watch() { return watch_; }
  // Rows of distances of a tile's queries, plan().pitch apart; by pairs, also their transpose.
  float* rows() const;
  float* transposed_rows() const;

  // Begins that repeat. Only repeat 0 proves selections.
  void begin(int repeat) { selection_.prove_from_now_on(repeat == 0); }
  // Uploads queries [first, first + count), unless they are in the resident corpus.
  void load_queries(std::int64_t first, std::int64_t count);
  // Enqueue the norms and images of a resident corpus, and of loaded queries.
  void summarise_corpus();
  void summarise_queries(std::int64_t count);
  query_rows queries(std::int64_t first, std::int64_t count) const;
  // Some of the loaded queries; `first` counts from the first of these.
  query_rows loaded_queries(std::int64_t first, std::int64_t count) const;

  // Removes all candidates of the group.
  void forget(std::int64_t group) { best_.forget(group); }
  // Enqueues: selects the nearest by `distances` as candidates of the group. `distances`:
  // [queries.rows][tile.count], rows plan().pitch apart; an algorithm that works in place may
  // change them. `tile` starts at corpus vector `first`.
  void select(std::int64_t group, float* distances, const query_rows& queries,
              const vectors_on_device& tile, std::int64_t first);
  // After select() for every corpus tile: orders the group's candidates, judges them, and does
  // unproven queries again. In repeat 0 the report counts these.
  void answer(std::int64_t group, const query_rows& queries, int repeat);
  // The steps of answer(). This one enqueues: writes the group's answers to rows `at` on, and
  // whether each is proven.
  void order(std::int64_t group, const query_rows& queries, std::int64_t at);
  // The numbers of the unproven among the `count` rows from `at` on, after the enqueued work. The
  // report counts them if `counted`. Returns none if TF32 was asked for.
  std::vector<std::int32_t> unproven(std::int64_t at, std::int64_t count, bool counted);
  // Enqueues: restricts the group to the queries with numbers `which`, without candidates. Their
  // answers keep their places.
  query_rows again(std::int64_t group, query_rows queries, const std::vector<std::int32_t>& which);
  // select() for these queries, by distances in float64 from those of their k-th candidates; the
  // group's answers begin at row `at`. `tile` starts at corpus vector `first`.
  void select_again(std::int64_t group, const query_rows& queries, std::int64_t at,
                    const vectors_on_device& tile, std::int64_t first);
  // How often a query is done again at most. Each time float32 resolves distances more finely about
  // the right one, so what were left after so many would only differ by rounding.
  static constexpr int times_again = 6;
  // Downloads the first `count` answers and passes them to the sink as those of queries `first` on.
  void deliver(std::int64_t first, std::int64_t count,
               const std::function<void(const knn_block&)>& sink);

  // Adds the watch's times since the last call to those of that repeat.
  void add_times(int repeat);
  cuda_knn_report report() const;

  // One pass: calls work(tile, first) for every corpus tile; a tile starts at vector `first`.
  template <class Work>
  void each_tile(Work&& work) {
    for (std::int64_t t = 0; t < corpus_.count(); ++t) {
      corpus_.next();
      watch_.time(&cuda_knn_times::norms, [&] { corpus_.summarise_tile(); });
      work(corpus_.vectors(), corpus_.first(corpus_.tile()));
      corpus_.close();
    }
  }

 private:
  norm_reduction how() const {
    return request_.cuda.sum_by_warp ? norm_reduction::by_warp : norm_reduction::by_key;
  }

  const knn_request& request_;
  backend& place_;
  const knn_plan plan_;
  corpus_tiles corpus_;
  distance_rows distances_;
  proven_selection selection_;
  best_candidates best_;
  candidate_order order_;
  std::optional<device_vectors> own_queries_;  // empty: queries are in the resident corpus
  device_buffer rows_, transposed_, proven_, chosen_, indices_, nearest_, farthest_;
  stopwatch watch_;
  cuda_knn_report report_;
  std::vector<std::int64_t> host_indices_;
  std::vector<float> host_distances_;
};

}  // namespace kselect::search
