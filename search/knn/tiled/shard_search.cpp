#include "search/knn/tiled/shard_search.hpp"

#include <algorithm>
#include <stdexcept>

#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/tile_stream.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/tiled/cuda/shard_on_gpu.hpp"
#endif

namespace kselect::search {
namespace {

// Searches tile by tile in host memory.
class shard_by_tiles final : public shard_search {
 public:
  shard_by_tiles(const tiled_request& request, const vector_files& base, std::int64_t first,
                 std::int64_t end, std::int64_t tile, backend& place)
      : request_(request), tile_(tile), stream_(base, first, end, tile), place_(place) {
    sizes_.k = request.k;
    sizes_.keeps_input = !request.entry.algorithm->promises.modifies_input;
  }

  std::int64_t tiles() const override { return stream_.tiles(); }
  std::int64_t tile() const override { return tile_; }
  shard_report report() const override { return with_reading({}, stream_); }

  std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                neighbour_lists& best, bound_sharing&) override {
    best.clear();
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) search(stream_.next(), queries, first, best);
    return {};
  }

 private:
  void search(const tile_stream::tile& tile, const vector_set& queries, std::int64_t first,
              neighbour_lists& best) {
    // If queries may find themselves, asks for one neighbour more and leaves them out.
    const bool own = request_.exclude_self && first < tile.first + tile.vectors.count &&
                     tile.first < first + queries.count;
    const knn_request part{.base = tile.vectors,
                           .query = &queries,
                           .metric = request_.metric,
                           .k = std::min(request_.k + (own ? 1 : 0), tile.vectors.count),
                           .entry = *request_.entry.algorithm,
                           .block_bytes = host_block_bytes(sizes_, tile.vectors.count)};
    knn(part, place_, [&](const knn_block& block) {
      const int threads = place_.description().threads;
#pragma omp parallel for num_threads(threads) schedule(static)
      for (std::int64_t q = 0; q < block.count; ++q) {
        const std::size_t at = index(q * part.k), length = index(part.k);
        best.merge(block.first + q, {.distances = block.distances.subspan(at, length),
                                     .indices = block.indices.subspan(at, length),
                                     .offset = tile.first,
                                     .excluded = own ? first + block.first + q : no_neighbour,
                                     .ranked = block.ranked.subspan(at, length)});
      }
    });
  }

  const tiled_request& request_;
  tiled_sizes sizes_;
  std::int64_t tile_;
  tile_stream stream_;
  backend& place_;
};

}  // namespace

void shard_search::nearest_again(const vector_set&, std::int64_t, neighbour_lists&) {
  throw std::logic_error("this shard's lists are whole");
}

shard_report with_reading(shard_report report, const tile_stream& from) {
  report.bytes_read = from.bytes_read();
  report.read_s = from.read_s();
  report.wait_s = from.wait_s();
  return report;
}

std::unique_ptr<shard_search> open_shard(const tiled_request& request, const vector_files& base,
                                         std::int64_t first, std::int64_t end, std::int64_t tile,
                                         std::int64_t queries, backend& place) {
  if (request.by_products()) {
    return open_product_shard(request, base, first, end, tile, queries, place);
  }
#if KSELECT_HAS_CUDA
  if (!place.shares_host_memory()) {
    return open_gpu_shard(request, base, first, end, tile, queries, place);
  }
#endif
  return std::make_unique<shard_by_tiles>(request, base, first, end, tile, place);
}

}  // namespace kselect::search
