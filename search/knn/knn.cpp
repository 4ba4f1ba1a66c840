#include "search/knn/knn.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "harness/select/select_rows.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/error.hpp"
#include "search/knn/fused/knn_by_products.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/cuda/knn_on_cuda.hpp"
#endif

namespace kselect::search {
namespace {

void check(const knn_request& r) {
  if (r.queries().dimension != r.base.dimension && r.queries().count != 0 && r.base.count != 0) {
    throw error(failure::usage,
                fmt::format("{} has dimension {}, but {} has {}", r.queries().source,
                            r.queries().dimension, r.base.source, r.base.dimension));
  }
  const std::int64_t candidates = r.base.count - (r.exclude_self ? 1 : 0);
  if (r.k < 1 || r.k > candidates) {
    throw error(
        failure::usage,
        fmt::format("k = {} is not in 1 .. {}: {} has {} vectors{}", r.k, candidates, r.base.source,
                    r.base.count, r.exclude_self ? ", one of which is the query itself" : ""));
  }
}

// Sorts each query's k neighbours: nearest first, ties by index. k is small, so this is cheap.
class neighbour_order {
 public:
  explicit neighbour_order(std::int64_t k) : order_(static_cast<std::size_t>(k)) {}

  void apply(std::span<float> distances, std::span<std::int64_t> indices) {
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      return distances[a] != distances[b] ? distances[a] < distances[b] : indices[a] < indices[b];
    });
    permute(distances, moved_distances_);
    permute(indices, moved_indices_);
  }

 private:
  template <class T>
  void permute(std::span<T> data, std::vector<T>& moved) {
    moved.clear();
    for (const std::size_t from : order_) moved.push_back(data[from]);
    std::ranges::copy(moved, data.begin());
  }

  std::vector<std::size_t> order_;
  std::vector<float> moved_distances_;
  std::vector<std::int64_t> moved_indices_;
};

}  // namespace

void knn(const knn_request& r, backend& place, const std::function<void(const knn_block&)>& sink) {
  check(r);
  const vector_set& queries = r.queries();
  if (queries.count == 0) return;
  if (asks_for_products(r, place.description()) && knn_by_products(r, place, sink)) return;
#if KSELECT_HAS_CUDA
  if (place.description().kind == executor_kind::cuda) return knn_on_cuda(r, place, sink);
#endif
  problem p;
  p.n = r.base.count - (r.exclude_self ? 1 : 0);
  p.k = r.k;
  p.index = preferred_index(r.entry);
  const std::int64_t row_bytes = p.n * static_cast<std::int64_t>(sizeof(float));
  const distance_options options{.threads = place.description().threads};
  std::int64_t block = std::clamp<std::int64_t>(r.block_bytes / row_bytes, 1, queries.count);
  // In whole tiles the products do not depend on the block's size (distance.hpp).
  if (block > options.query_tile) block -= block % options.query_tile;

  const distance_calculator calculator(r.base.view(), r.metric, options);
  const host_buffer rows(static_cast<std::size_t>(block * row_bytes));
  std::vector<std::int64_t> own(r.exclude_self ? static_cast<std::size_t>(block) : 0);
  neighbour_order order(r.k);
  for (std::int64_t first = 0; first < queries.count; first += block) {
    p.q = std::min(block, queries.count - first);
    std::iota(own.begin(), own.end(), first);
    auto* const distances = reinterpret_cast<float*>(rows.data());
    calculator.rows(queries.data.data() + first * queries.dimension, p.q, distances, p.n,
                    own.empty() ? nullptr : own.data());
    selection nearest = select_rows(r.entry, p, {rows.data(), p.input_bytes()}, place);
    const std::span nearest_distances(reinterpret_cast<float*>(nearest.values.data()),
                                      static_cast<std::size_t>(p.q * p.k));
    for (std::int64_t q = 0; q < p.q; ++q) {
      const std::span indices =
          std::span(nearest.indices)
              .subspan(static_cast<std::size_t>(q * p.k), static_cast<std::size_t>(p.k));
      // The row leaves out its own vector, so every later one has moved up by one.
      if (r.exclude_self) {
        for (std::int64_t& i : indices) i += i >= first + q ? 1 : 0;
      }
      order.apply(nearest_distances.subspan(static_cast<std::size_t>(q * p.k),
                                            static_cast<std::size_t>(p.k)),
                  indices);
    }
    sink(
        {.first = first, .count = p.q, .indices = nearest.indices, .distances = nearest_distances});
  }
}

}  // namespace kselect::search
