#include "search/knn/tiled/shard_by_products.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/byte_vectors.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/stage_times.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/tile_stream.hpp"
#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>

#include "runtime/backend/cuda/call.hpp"
#endif

namespace kselect::search {
namespace {

using fused::make;
using fused::view;

// The most bytes of a corpus tile in host memory: they take some milliseconds to copy.
constexpr std::int64_t most_tile_bytes = 256 << 20;
constexpr std::int64_t most_queries_resident = 1 << 16;  // a tile's answers are then soon written
constexpr std::int64_t component_bytes = 4;
// The buffers of 2^14 queries at once take up to 2 GiB, which is the quarter for the search.
constexpr std::int64_t ample_bytes = std::int64_t{8} << 30;

// Of a prepared vector: itself, its slabs, square, error, start, mean and scale.
std::int64_t prepared_bytes(std::int64_t dimension) {
  return dimension * component_bytes + fused::slabs_of(dimension) * fused::slab_width * 2 + 36;
}
// Of a query: itself, mean, scale, offset, its place among the unproven, and the answer.
std::int64_t query_bytes(std::int64_t dimension, std::int64_t k) {
  return dimension * component_bytes + 36 + (k + 1) * 20;
}

std::string why_no_code(const device& place) {
  return fused::why_not(place, fused::filter_compiled_for(place));
}

class shard_by_products final : public shard_search {
 public:
  shard_by_products(const tiled_request& request, const vector_files& base, std::int64_t first,
                    std::int64_t end, std::int64_t tile, bool resident, backend& place)
      : request_(request),
        first_(first),
        end_(end),
        dimension_(base.dimension()),
        tile_(std::min(tile, end - first)),
        resident_(resident || tile >= end - first),
        place_(place),
        stream_(base, first, end, tile_, reading_threads(place)),
        watch_(place, request.cuda.time_stages) {
    const std::string why = why_no_code(place.description());
    if (!why.empty()) throw error(failure::unsupported, why);
  }

  std::int64_t tiles() const override { return stream_.tiles(); }
  std::int64_t tile() const override { return tile_; }
  shard_report report() const override {
    shard_report all = report_;
    all.bytes_read = stream_.bytes_read();
    all.read_s = stream_.read_s();
    all.wait_s = stream_.wait_s();
    all.resident = resident_;
    return all;
  }

  void load() override {
    if (resident_) bring_whole();
  }

  void nearest(const vector_set& queries, std::int64_t first, neighbour_lists& best) override {
    if (request_.product == knn_product::int8) require_bytes(queries, first);
    queries_ = upload(queries);
    if (resident_) {
      search(whole_, queries, first, best, false);
    } else {
      for (std::int64_t t = 0; t < stream_.tiles(); ++t) {
        const part tile = bring(next());
        search(tile, queries, first, best, t > 0);
      }
    }
    report_.rows_proven += queries.count;
    if (const auto times = watch_.take()) report_.gpu += *times;
  }

 private:
  // A part of the corpus in the executor's memory.
  struct part {
    std::int64_t first = 0;
    device_buffer vectors;
    std::unique_ptr<fused::prepared_corpus> corpus;
  };

  int threads() const { return place_.description().threads; }
  fused::stage_clock clock() {
    return [this](fused::stage s, const std::function<void()>& work) { watch_.time(s, work); };
  }

  device_buffer upload(const vector_set& set) {
    device_buffer memory = make<float>(place_, set.count * set.dimension);
    place_.to_device(memory.data(), std::as_bytes(std::span(set.data)));
    return memory;
  }

  // The next tile, whose vectors the product takes.
  tile_stream::tile next() {
    const tile_stream::tile tile = stream_.next();
    if (request_.product == knn_product::int8) require_bytes(tile.vectors, tile.first);
    return tile;
  }
  part bring(const tile_stream::tile& tile) {
    part made{tile.first, upload(tile.vectors), nullptr};
    prepare(made, tile.vectors.count);
    return made;
  }
  // All tiles as one corpus: one search needs no merging, and its thresholds are sharper.
  void bring_whole() {
    const std::int64_t vectors = end_ - first_, dimension = dimension_;
    whole_ = {first_, make<float>(place_, vectors * dimension), nullptr};
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) {
      const tile_stream::tile tile = next();
      place_.to_device(whole_.vectors.data() + (tile.first - first_) * dimension * component_bytes,
                       std::as_bytes(std::span(tile.vectors.data)));
    }
    prepare(whole_, vectors);
  }
  void prepare(part& p, std::int64_t vectors) {
    p.corpus = std::make_unique<fused::prepared_corpus>(place_, view<const float>(p.vectors).data,
                                                        vectors, dimension_, request_.metric,
                                                        factors_of(request_.product));
    p.corpus->prepare(clock());
  }

  // If queries may find themselves, asks for one neighbour more and leaves them out. `later`:
  // `best` has neighbours of other tiles.
  void search(const part& p, const vector_set& queries, std::int64_t first, neighbour_lists& best,
              bool later) {
    const std::int64_t vectors = p.corpus->count();
    const bool own =
        request_.exclude_self && first < p.first + vectors && p.first < first + queries.count;
    const std::int64_t k = std::min(request_.k + (own ? 1 : 0), vectors);
    const std::int64_t size = queries.count * k;
    const device_buffer indices = make<std::int64_t>(place_, size);
    const device_buffer distances = make<float>(place_, size), exact = make<double>(place_, size);
    const device_buffer known = later ? upload_farthest(best) : device_buffer{};
    fused::fused_search nearest(place_, *p.corpus, queries.count, k, false);
    const fused::search_report done =
        nearest.run(view<const float>(queries_).data, queries.count, -1,
                    {.indices = view<std::int64_t>(indices),
                     .distances = view<float>(distances),
                     .exact = view<double>(exact),
                     .k = k,
                     .root = request_.metric == metric::euclidean},
                    clock(), {}, later ? view<const double>(known) : simt::global<const double>{});
    report_.unproven += done.again;
    report_.survivors += done.survivors;
    report_.by_float64 += done.by_float64;
    if (!later && !own && k == best.k()) return take(indices, distances, exact, p.first, best);
    indices_.resize(index(size));
    distances_.resize(index(size));
    exact_.resize(index(size));
    place_.to_host(std::as_writable_bytes(std::span(indices_)), indices.data());
    place_.to_host(std::as_writable_bytes(std::span(distances_)), distances.data());
    place_.to_host(std::as_writable_bytes(std::span(exact_)), exact.data());
    merge(queries.count, k, p.first, own ? first : no_neighbour, best);
  }
  // Lists of a first tile are those of all so far.
  void take(const device_buffer& indices, const device_buffer& distances,
            const device_buffer& exact, std::int64_t offset, neighbour_lists& best) {
    place_.to_host(std::as_writable_bytes(best.indices()), indices.data());
    place_.to_host(std::as_writable_bytes(best.distances()), distances.data());
    place_.to_host(std::as_writable_bytes(best.ranked()), exact.data());
    const std::span<std::int64_t> all = best.indices();
    const int workers = threads();
#pragma omp parallel for num_threads(workers) schedule(static)
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = all[i] < 0 ? no_neighbour : all[i] + offset;
    }
  }
  // No vector of a later tile that is farther than a query's k-th so far is wanted.
  device_buffer upload_farthest(const neighbour_lists& best) {
    std::vector<double> farthest;
    for (std::int64_t q = 0; q < best.queries(); ++q) {
      farthest.push_back(best.ranked()[index(q * best.k() + best.k() - 1)]);
    }
    device_buffer memory = make<double>(place_, best.queries());
    place_.to_device(memory.data(), std::as_bytes(std::span(farthest)));
    return memory;
  }
  // Query q leaves out vector first_own + q, unless that is no_neighbour.
  void merge(std::int64_t count, std::int64_t k, std::int64_t offset, std::int64_t first_own,
             neighbour_lists& best) {
    const int workers = threads();
#pragma omp parallel for num_threads(workers) schedule(static)
    for (std::int64_t q = 0; q < count; ++q) {
      const std::size_t at = index(q * k);
      std::size_t length = index(k);
      while (length > 0 && indices_[at + length - 1] < 0) --length;
      best.merge(q, {.distances = std::span<const float>(distances_).subspan(at, length),
                     .indices = std::span<const std::int64_t>(indices_).subspan(at, length),
                     .offset = offset,
                     .excluded = first_own == no_neighbour ? no_neighbour : first_own + q,
                     .ranked = std::span<const double>(exact_).subspan(at, length)});
    }
  }

  const tiled_request& request_;
  std::int64_t first_, end_, dimension_;
  std::int64_t tile_;
  bool resident_;
  backend& place_;
  tile_stream stream_;
  fused::stage_times watch_;
  shard_report report_;
  device_buffer queries_;
  part whole_;  // of a resident corpus
  std::vector<std::int64_t> indices_;
  std::vector<float> distances_;
  std::vector<double> exact_;
};

// Bytes of the executor's memory that a search may take.
std::int64_t executor_bytes(const tiled_request& request, [[maybe_unused]] const backend& place) {
  if (request.cuda.memory_bytes != 0) return request.cuda.memory_bytes;
#if KSELECT_HAS_CUDA
  if (!place.shares_host_memory()) {
    std::size_t free = 0, total = 0;
    require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
  }
#endif
  return request.memory_bytes;
}

}  // namespace

product_tile_bounds bound_product_tiles(std::int64_t bytes, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        std::int64_t k) {
  const std::int64_t a_vector = prepared_bytes(dimension), a_query = query_bytes(dimension, k);
  const std::int64_t fit = bytes / 2 / a_vector / corpus_unit * corpus_unit;
  const std::int64_t asked = bytes / 4 / a_query / query_unit * query_unit;
  if (fit < std::min(corpus_unit, vectors) || asked < std::min(query_unit, queries)) {
    throw error(failure::resources,
                fmt::format("{} MiB of the executor's memory do not hold {} vectors of dimension "
                            "{} and {} queries with k = {}",
                            bytes >> 20, corpus_unit, dimension, query_unit, k));
  }
  const bool resident = fit >= vectors;
  const std::int64_t tile =
      most_tile_bytes / (dimension * component_bytes) / corpus_unit * corpus_unit;
  return {.queries = std::min(asked, resident ? most_queries_resident : queries),
          .corpus_tile = std::min(fit, std::max(corpus_unit, tile)),
          .resident = resident};
}

product_tile_bounds bound_product_tiles(const tiled_request& request, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        const backend& place) {
  return bound_product_tiles(executor_bytes(request, place), vectors, queries, dimension,
                             request.k);
}

bool asks_for_products(const tiled_request& r, const device& place) {
  return r.product == knn_product::automatic && place.kind == executor_kind::cuda &&
         r.entry.algorithm->name == "auto" && !r.cuda.tf32 && !r.cuda.sum_by_warp;
}

knn_product product_of_files(const tiled_request& r, const vector_files& base,
                             const vector_files& queries, const device& place) {
  const auto type = base.byte_type();
  const bool euclidean = r.metric == metric::sqeuclidean || r.metric == metric::euclidean;
  const bool faster = fused::integers_are_faster({.n = base.count(),
                                                  .q = queries.count(),
                                                  .dimension = base.dimension(),
                                                  .k = r.k,
                                                  .wgmma_is_built = fused::wgmma_is_built()},
                                                 place);
  const bool of_bytes = type && type == queries.byte_type();
  return euclidean && of_bytes && faster ? knn_product::int8 : knn_product::float16;
}

std::string why_not_products(const tiled_request& r, std::int64_t vectors, std::int64_t queries,
                             std::int64_t dimension, const device& place, std::int64_t bytes) {
  if (r.exchange == exchange_kind::nccl) return "--exchange nccl orders by float32";
  if (bytes < ample_bytes) {
    return fmt::format("they want {} GiB of the GPU's memory, and have {} MiB", ample_bytes >> 30,
                       bytes >> 20);
  }
  if (r.metric == metric::inner_product) return {};  // no other way has it
  const product_tile_bounds bounds = bound_product_tiles(bytes, vectors, queries, dimension, r.k);
  const fused::search_plan plan =
      fused::plan_search({.n = bounds.resident ? vectors : bounds.corpus_tile,
                          .q = std::min(queries, bounds.queries),
                          .dimension = dimension,
                          .k = r.k + (r.exclude_self ? 1 : 0)},
                         place);
  return plan.by_float64_because;
}

std::string why_not_products(const tiled_request& r, std::int64_t vectors, std::int64_t queries,
                             std::int64_t dimension, const backend& place) {
  const std::string why = why_no_code(place.description());
  if (!why.empty()) return why;
  return why_not_products(r, vectors, queries, dimension, place.description(),
                          executor_bytes(r, place));
}

std::unique_ptr<shard_search> open_product_shard(const tiled_request& request,
                                                 const vector_files& base, std::int64_t first,
                                                 std::int64_t end, std::int64_t tile,
                                                 std::int64_t queries, backend& place) {
  const bool resident =
      bound_product_tiles(request, end - first, queries, base.dimension(), place).resident;
  return std::make_unique<shard_by_products>(request, base, first, end, tile, resident, place);
}

}  // namespace kselect::search
