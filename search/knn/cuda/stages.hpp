#pragma once
// The stages of k-NN on a GPU and the memory they work in. Whoever drives them decides in which
// order queries and corpus tiles meet (knn_on_cuda.cpp, graph_by_pairs.cpp,
// tiled/cuda/shard_on_gpu.cpp); what becomes of their distances is the same: candidates, merged
// tile by tile, ordered by their true distance, judged, and done again in float64 where nearer ones
// may have been left out.

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

class knn_stages {
 public:
  // Allocates everything. `request` and `place`, a CUDA backend, must outlive this object; the
  // corpus comes from `source`, of request.base only number and dimension are asked.
  knn_stages(const knn_request& request, backend& place, knn_plan plan, corpus_source source);

  const knn_request& request() const { return request_; }
  const knn_plan& plan() const { return plan_; }
  corpus_tiles& corpus() { return corpus_; }
  const corpus_tiles& corpus() const { return corpus_; }
  distance_rows& distances() { return distances_; }
  stopwatch& watch() { return watch_; }
  // Distances of a tile's queries, plan().pitch apart; and, by pairs of tiles, their transpose.
  float* rows() const;
  float* transposed_rows() const;

  // What comes next belongs to that repeat.
  void begin(int repeat) { selection_.prove_from_now_on(repeat == 0); }
  // Queries [first, first + count): brings over those that are not in the resident corpus.
  void load_queries(std::int64_t first, std::int64_t count);
  // Enqueues their norms and images, of a resident corpus once for all.
  void summarise_corpus();
  void summarise_queries(std::int64_t count);
  query_rows queries(std::int64_t first, std::int64_t count) const;
  // Some of the queries that were loaded, whose first has number 0.
  query_rows loaded_queries(std::int64_t first, std::int64_t count) const;

  // The group has met no tile.
  void forget(std::int64_t group) { best_.forget(group); }
  // Enqueues: the nearest by `distances`, [queries.rows][tile.count] and plan().pitch apart, become
  // candidates of the group. `tile` starts at corpus vector `first`. An algorithm that works in
  // place may change the distances.
  void select(std::int64_t group, float* distances, const query_rows& queries,
              const vectors_on_device& tile, std::int64_t first);
  // A group has met every corpus tile: orders its candidates, judges them, and does again what is
  // not proven to be the nearest. Counts those queries in the report if this is repeat 0.
  void answer(std::int64_t group, const query_rows& queries, int repeat);
  // The parts of it. Enqueues: the answers of a group go to rows `at` on, and where they are
  // judged, whether they are proven.
  void order(std::int64_t group, const query_rows& queries, std::int64_t at, bool judged);
  // Of the first `count` answers, after the work: which are not proven. Counts them, and names none
  // where TF32 was asked for.
  std::vector<std::int32_t> unproven(std::int64_t count, bool counted);
  // Enqueues: those of the group's queries whose numbers are in `which` become its only ones. Their
  // answers still go to their old places.
  query_rows again(std::int64_t group, query_rows queries, const std::vector<std::int32_t>& which);
  // Enqueues: their distances to a tile that starts at corpus vector `first`, in float64.
  void select_again(std::int64_t group, const query_rows& queries, const vectors_on_device& tile,
                    std::int64_t first);
  // Brings the first `count` answers over; the sink's queries count from `first`.
  void deliver(std::int64_t first, std::int64_t count,
               const std::function<void(const knn_block&)>& sink);

  // Adds what the watch has measured since to the times of that repeat.
  void add_times(int repeat);
  cuda_knn_report report() const;

  // One pass: `work(tile, first)` for every corpus tile in turn, which starts at vector `first`.
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
  std::optional<device_vectors> own_queries_;  // those of the resident corpus need no copy
  device_buffer rows_, transposed_, proven_, chosen_, indices_, nearest_;
  stopwatch watch_;
  cuda_knn_report report_;
  std::vector<std::int64_t> host_indices_;
  std::vector<float> host_distances_;
};

}  // namespace kselect::search
