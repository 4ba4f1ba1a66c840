#if KSELECT_HAS_CUDA

#include "search/knn/tiled/cuda/shard_on_gpu.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/error.hpp"
#include "search/knn/cuda/knn_on_cuda.hpp"
#include "search/knn/cuda/stages.hpp"
#include "search/knn/possible.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/tile_stream.hpp"

namespace kselect::search {
namespace {

// Queries of a tile if the part is resident. Another pass then costs nothing, so tiles are short:
// the results of one are written while the next is searched.
constexpr std::int64_t queries_of_resident = 1 << 15;
// The most bytes of a corpus tile: they take some milliseconds to copy.
constexpr std::int64_t most_tile_bytes = 256 << 20;

// The request of one shard. Its vector sets have only a count and a dimension, no data. If queries
// may find themselves, it asks for one neighbour more.
class shard_request {
 public:
  shard_request(const tiled_request& r, std::int64_t vectors, std::int64_t dimension,
                std::int64_t queries)
      : base_(numbers(vectors, dimension)),
        queries_(numbers(queries, dimension)),
        request_{.base = base_,
                 .query = &queries_,
                 .metric = r.metric,
                 .k = std::min(r.k + (r.exclude_self ? 1 : 0), vectors),
                 .entry = *r.entry.algorithm,
                 .cuda = r.cuda} {
    base_.source = "the corpus";
    request_.cuda.repeats = 0;
  }
  shard_request(const shard_request&) = delete;
  shard_request& operator=(const shard_request&) = delete;

  knn_request& get() { return request_; }
  const knn_request& get() const { return request_; }

 private:
  static vector_set numbers(std::int64_t count, std::int64_t dimension) {
    vector_set set;
    set.count = count;
    set.dimension = dimension;
    return set;
  }

  vector_set base_, queries_;
  knn_request request_;
};

class shard_on_gpu final : public shard_search {
 public:
  shard_on_gpu(const tiled_request& r, const vector_files& base, std::int64_t first,
               std::int64_t end, std::int64_t tile, std::int64_t queries, backend& place)
      : exclude_self_(r.exclude_self),
        first_(first),
        threads_(place.description().threads),
        request_(r, end - first, base.dimension(), queries),
        stages_(request_.get(), place, plan_for(request_.get(), tile, place),
                {.count = end - first,
                 .dimension = base.dimension(),
                 .data = nullptr,
                 .fetch = [this, &base](std::int64_t at, std::int64_t count, float* out) {
                   bytes_read_ += base.bytes(first_ + at, count);
                   read_by_threads(base, first_ + at, count, out, std::min(threads_, gpu_readers));
                 }}) {}

  std::int64_t tiles() const override { return stages_.plan().corpus.parts; }
  std::int64_t tile() const override { return stages_.plan().corpus.widest(); }

  shard_report report() const override {
    const cuda_knn_report done = stages_.report();
    shard_report all;
    all.bytes_read = bytes_read_;
    all.read_s = stages_.corpus().fetch_s();
    all.wait_s = stages_.corpus().wait_s();
    all.rows_proven = done.rows_proven;
    all.unproven = done.unproven;
    all.resident = !stages_.plan().streamed;
    for (const cuda_knn_times& times : done.times) all.gpu += times;
    return all;
  }

  std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                neighbour_lists& best, bound_sharing&) override {
    request_.get().query = &queries;
    stages_.load_queries(0, queries.count);
    stages_.summarise_queries(queries.count);
    const std::int64_t most = stages_.plan().tile_queries;
    const even_cut cut{queries.count, (queries.count + most - 1) / most};
    meet(cut);
    for (std::int64_t g = 0; g < cut.parts; ++g) {
      stages_.order(g, group(cut, g), cut.first(g));
    }
    std::vector<std::int32_t> again = stages_.unproven(0, queries.count, true);
    for (int time = 0; time < knn_stages::times_again && !again.empty(); ++time) {
      again = done_again(cut, again);
    }
    best.clear();
    merge(queries.count, first, best);
    stages_.add_times(0);
    return {};
  }

 private:
  static knn_plan plan_for(const knn_request& r, std::int64_t tile, backend& place) {
    memory_bounds limit = device_memory(r.cuda);
    limit.widest = tile;
    return plan_passes(r, place.description(), limit);
  }

  query_rows group(const even_cut& cut, std::int64_t g) const {
    return stages_.loaded_queries(cut.first(g), cut.width(g));
  }

  // One pass: each corpus tile is compared with all groups of queries before the next one comes.
  void meet(const even_cut& cut) {
    for (std::int64_t g = 0; g < cut.parts; ++g) stages_.forget(g);
    stages_.each_tile([&](const vectors_on_device& tile, std::int64_t at) {
      for (std::int64_t g = 0; g < cut.parts; ++g) {
        const query_rows queries = group(cut, g);
        stages_.watch().time(&cuda_knn_times::distance, [&] {
          stages_.distances().multiply(queries.vectors, tile, stages_.rows(), stages_.plan().pitch);
        });
        stages_.select(g, stages_.rows(), queries, tile, at);
      }
    });
  }

  // One more pass, in float64, for the queries `which`. Their answers replace the old ones. Returns
  // those that are unproven yet.
  std::vector<std::int32_t> done_again(const even_cut& cut,
                                       const std::vector<std::int32_t>& which) {
    struct part {
      std::int64_t group;
      query_rows queries;
      std::vector<std::int32_t> numbers;  // of its queries
    };
    std::vector<part> parts;
    stages_.watch().time(&cuda_knn_times::redo, [&] {
      auto next = which.begin();
      for (std::int64_t g = 0; g < cut.parts; ++g) {
        std::vector<std::int32_t> numbers, own;  // own: within the group
        for (; next != which.end() && *next < cut.first(g + 1); ++next) {
          numbers.push_back(*next);
          own.push_back(*next - static_cast<std::int32_t>(cut.first(g)));
        }
        if (!own.empty()) parts.push_back({g, stages_.again(g, group(cut, g), own), numbers});
      }
      stages_.each_tile([&](const vectors_on_device& tile, std::int64_t at) {
        for (const part& p : parts) {
          stages_.select_again(p.group, p.queries, cut.first(p.group), tile, at);
        }
      });
      for (const part& p : parts) stages_.order(p.group, p.queries, cut.first(p.group));
    });
    std::vector<std::int32_t> left;
    for (const part& p : parts) {
      const auto unproven = stages_.unproven(cut.first(p.group), p.queries.rows, false);
      std::ranges::copy(those_of(p.numbers, unproven), std::back_inserter(left));
    }
    return left;
  }

  // Downloads all answers and merges them into `best`. The first query has number `first`.
  void merge(std::int64_t count, std::int64_t first, neighbour_lists& best) {
    stages_.deliver(0, count, [&](const knn_block& block) {
      const auto k = static_cast<std::size_t>(request_.get().k);
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t q = 0; q < count; ++q) {
        const auto at = static_cast<std::size_t>(q) * k;
        best.merge(q, {.distances = block.distances.subspan(at, k),
                       .indices = block.indices.subspan(at, k),
                       .offset = first_,
                       .excluded = exclude_self_ ? first + q : no_neighbour});
      }
    });
  }

  bool exclude_self_;
  std::int64_t first_;
  int threads_;
  shard_request request_;
  std::int64_t bytes_read_ = 0;  // written by one reading thread at a time
  knn_stages stages_;
};

}  // namespace

gpu_tile_bounds bound_gpu_tiles(const tiled_request& request, std::int64_t dimension,
                                std::int64_t queries, std::int64_t vectors, backend& place) {
  require_older_products(request.metric, false);
  const shard_request asked(request, vectors, dimension, queries);
  const memory_bounds limit = device_memory(request.cuda);
  gpu_tile_bounds bounds{};
  bounds.queries = most_queries_of_passes(asked.get(), place.description(), limit);
  const std::int64_t row_bytes = dimension * static_cast<std::int64_t>(sizeof(float));
  bounds.corpus_tile = std::max(corpus_unit, most_tile_bytes / row_bytes);
  const shard_request few(request, vectors, dimension,
                          std::min({queries, bounds.queries, queries_of_resident}));
  if (!plan_passes(few.get(), place.description(), limit).streamed) {
    bounds.queries = std::min(bounds.queries, queries_of_resident);
  }
  return bounds;
}

std::unique_ptr<shard_search> open_gpu_shard(const tiled_request& request, const vector_files& base,
                                             std::int64_t first, std::int64_t end,
                                             std::int64_t tile, std::int64_t queries,
                                             backend& place) {
  return std::make_unique<shard_on_gpu>(request, base, first, end, tile, queries, place);
}

}  // namespace kselect::search

#endif
