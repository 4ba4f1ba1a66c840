// How much of the corpus and how many queries the executor's memory holds.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/memory_plan.hpp"
#include "search/knn/fused/plan.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/running_lists.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/shard_of_graph.hpp"
#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>

#include "runtime/backend/cuda/call.hpp"
#endif

namespace kselect::search {
namespace {

// The most bytes of a corpus tile in host memory: they take some milliseconds to copy.
constexpr std::int64_t most_tile_bytes = 256 << 20;
// Another tile of queries costs a resident corpus no reading. Short tiles leave little to do before
// the first search and after the last, which no search hides: the first tile's queries, and the
// last one's lists.
constexpr std::int64_t most_queries_resident = 1 << 13;
constexpr std::int64_t component_bytes = 4;
constexpr int most_turns = 4;  // in which tiles and the memory of their search are fitted

// Of a prepared vector: itself, its slabs, square, error, start, mean and scale.
std::int64_t prepared_bytes(std::int64_t dimension) {
  return dimension * component_bytes + fused::slabs_of(dimension) * fused::slab_width * 2 + 36;
}
// Of a query: mean, scale, offset, its place among the unproven, a known distance and a bound of
// ranks; itself twice, for the tile that is searched and for that beside it. Its lists: two beside
// each other where the part is resident, else those of running_lists.
std::int64_t query_bytes(std::int64_t dimension, std::int64_t k) {
  return 52 + 2 * dimension * component_bytes + (k + 1) * running_lists::bytes_a_neighbour;
}

std::string why_no_code(const device& place) {
  return fused::why_not(place, fused::filter_compiled_for(place));
}

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

fused::search_shape shape_of(const tiled_request& r, std::int64_t vectors, std::int64_t queries,
                             std::int64_t dimension) {
  return {.n = vectors,
          .q = queries,
          .dimension = dimension,
          .k = r.k + (r.exclude_self ? 1 : 0),
          .wgmma_is_built = fused::wgmma_is_built(),
          .factors = factors_of(r.product)};
}

product_tile_bounds bounds_within(const tiled_request& r, std::int64_t bytes, std::int64_t vectors,
                                  std::int64_t queries, std::int64_t dimension,
                                  const device& place) {
  const std::int64_t most = std::max<std::int64_t>(1, bytes / 2 / prepared_bytes(dimension));
  const auto least = [&](std::int64_t n, std::int64_t q) {
    return fused::least_search_bytes(shape_of(r, n, q, dimension), place);
  };
  std::int64_t search = least(std::min(vectors, most), queries);
  // Other tiles need other memory, not always less of it.
  for (int turn = 0;; ++turn) {
    const product_tile_bounds tiles =
        bound_product_tiles(bytes, vectors, queries, dimension, r.k, search);
    const std::int64_t n = tiles.resident ? vectors : std::min(vectors, tiles.corpus_tile);
    const std::int64_t needed = least(n, std::min(queries, tiles.queries));
    if (needed <= tiles.search_bytes || turn == most_turns) return tiles;
    search = needed;
  }
}

// Of a vector of a graph by pairs: its answer, what half_memory has of it, and the scores that
// its first threshold comes from.
std::int64_t graph_bytes(const fused::search_plan& plan, std::int64_t dimension, std::int64_t k) {
  return fused::slabs_of(dimension) * fused::slab_width * 2 + plan.half.room * 8 + 100 + k * 20;
}

// Why the plan of a graph by pairs does not do there; empty if it does.
std::string why_not(const fused::search_plan& plan, const tiled_request& r, std::int64_t vectors,
                    std::int64_t dimension, const backend& place) {
  if (!plan.filters()) return plan.by_float64_because;
  if (!plan.half.taken()) return plan.half.impossible_because;
  const std::int64_t needed =
      vectors * (prepared_bytes(dimension) + graph_bytes(plan, dimension, r.k)) +
      plan.rows * plan.columns() * 4;
  const std::int64_t there = executor_bytes(r, place);
  if (needed <= there / 10 * 9) return {};
  return fmt::format("each rank needs {} MiB of its executor's memory, of which {} are free",
                     needed >> 20, there >> 20);
}

}  // namespace

pairs_offer offer_pairs(const tiled_request& r, std::int64_t vectors, std::int64_t dimension,
                        int ranks, const backend& place) {
  if (ranks == 1) return {.why_not = "there is one rank", .dealing = {}};
  if (!r.by_products()) return {.why_not = "the products are in float32 or float64", .dealing = {}};
  fused::search_shape shape = shape_of(r, vectors, vectors, dimension);
  shape.half_product = true;
  shape.shares = ranks;
  shape.of_inner_products = r.metric == metric::inner_product;
  const fused::search_plan plan = fused::plan_search(shape, place.description());
  return {.why_not = why_not(plan, r, vectors, dimension, place),
          .dealing =
              fmt::format("{} tiles a block by body {}, thresholds from {} rows of {}",
                          plan.half.part, static_cast<int>(plan.body), plan.rows, plan.columns())};
}

product_tile_bounds bound_product_tiles(std::int64_t bytes, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        std::int64_t k, std::int64_t least_search) {
  const std::int64_t a_vector = prepared_bytes(dimension), a_query = query_bytes(dimension, k);
  const std::int64_t search = std::max(bytes / 4, least_search);
  const std::int64_t rest = std::max<std::int64_t>(0, bytes - search);
  const std::int64_t fit = rest / 3 * 2 / a_vector / corpus_unit * corpus_unit;
  const std::int64_t asked = rest / 3 / a_query / query_unit * query_unit;
  if (fit < std::min(corpus_unit, vectors) || asked < std::min(query_unit, queries)) {
    throw error(
        failure::resources,
        fmt::format("{} MiB of the executor's memory do not hold {} vectors of dimension "
                    "{} and {} queries with k = {}, and {} MiB for their search",
                    bytes >> 20, corpus_unit, dimension, query_unit, k, (search >> 20) + 1));
  }
  const bool resident = fit >= vectors;
  const std::int64_t tile =
      most_tile_bytes / (dimension * component_bytes) / corpus_unit * corpus_unit;
  return {.queries = std::min(asked, resident ? most_queries_resident : queries),
          .corpus_tile = std::min(fit, std::max(corpus_unit, tile)),
          .resident = resident,
          .search_bytes = search};
}

product_tile_bounds bound_product_tiles(const tiled_request& request, std::int64_t vectors,
                                        std::int64_t queries, std::int64_t dimension,
                                        const backend& place) {
  return bounds_within(request, executor_bytes(request, place), vectors, queries, dimension,
                       place.description());
}

bool filters_with_room(const tiled_request& r, std::int64_t vectors, std::int64_t queries,
                       std::int64_t dimension, std::int64_t bytes, const device& place) {
  const fused::search_shape shape = shape_of(r, vectors, queries, dimension);
  return fused::plan_search(shape, place).filters() &&
         fused::least_search_bytes(shape, place) <= bytes / 5 * 4;
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
  if (r.metric == metric::inner_product) return {};  // no other way has it
  const product_tile_bounds bounds = bounds_within(r, bytes, vectors, queries, dimension, place);
  fused::search_shape shape = shape_of(r, bounds.resident ? vectors : bounds.corpus_tile,
                                       std::min(queries, bounds.queries), dimension);
  shape.bytes = bounds.search_bytes;
  const fused::search_plan plan = fused::plan_within(shape, place);
  return plan.by_float64_because;
}

std::string why_not_products(const tiled_request& r, std::int64_t vectors, std::int64_t queries,
                             std::int64_t dimension, const backend& place) {
  const std::string why = why_no_code(place.description());
  if (!why.empty()) return why;
  return why_not_products(r, vectors, queries, dimension, place.description(),
                          executor_bytes(r, place));
}

}  // namespace kselect::search
