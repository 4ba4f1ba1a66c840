// Each thread takes tiles of queries x base vectors. It converts both sides to float64, multiplies
// them with a single-threaded dgemm, and turns the products into distances while they are in cache.
// Many single-threaded dgemms run at a time, instead of one with many threads. So the summation
// order cannot depend on the number of threads, and BLAS and OpenMP threads do not compete.
//
// Every metric is one formula on images (x - mean) * scale: w (a + b) - 2 w x.y = w |x - y|^2.
// Here a and b are the squared norms. w is 1, or 1/2 for unit vectors, because
// 1 - x.y = |x - y|^2 / 2.
//
// Cancellation. In float64, with u = 2^-53, a dot product of D terms in any order has an error of
// at most D u |x||y|. With a, b and the last operations, the error of the distance is less than
// e = 2 (D + 4) u w (a + b). So a distance of at least 2^25 e has a relative error below 2^-25,
// which is small beside its rounding to float32. A smaller distance, at most (D + 4) 2^-27 of the
// norms, is summed directly as w sum (x - y)^2. This sum has no cancellation, is never negative,
// and is 0 for equal vectors, because their images are equal. If the data are far from the origin
// compared with their spread (a factor of 1000 at D = 128), all pairs take this slower path.

#include "runtime/distance/distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <string>

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::runtime {
namespace {

// Components multiplied at a time, so that a tile's size does not depend on the dimension.
constexpr std::int64_t depth = 1024;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw error(failure::usage, otherwise);
}

}  // namespace

struct distance_calculator::tile {
  const float* queries;  // the first query of the tile
  const image* of_queries;
  std::int64_t first_query, query_count;
  std::int64_t first_base, base_count;
};

struct distance_calculator::scratch {
  scratch(std::int64_t query_tile, std::int64_t base_tile, std::int64_t dimension)
      : queries(index(query_tile * std::min(depth, dimension))),
        base(index(base_tile * std::min(depth, dimension))),
        products(index(query_tile * base_tile)) {}
  std::vector<double> queries, base, products;
};

// One for each of `workers`, of the tiles' real size: few vectors on many threads need little.
std::vector<distance_calculator::scratch> distance_calculator::allocate_scratch(
    int workers, std::int64_t queries) const {
  const std::int64_t query_tile = std::min(options_.query_tile, queries);
  const std::int64_t base_tile = std::min(options_.base_tile, base_.count);
  try {
    return std::vector<scratch>(static_cast<std::size_t>(workers),
                                scratch(query_tile, base_tile, base_.dimension));
  } catch (const std::bad_alloc&) {
    throw error(failure::resources,
                fmt::format("distances: tiles of {} x {} for {} do not fit into memory; use "
                            "smaller or fewer ones",
                            query_tile, base_tile, amount_of(workers, "thread")));
  }
}

// Threads for so many tasks: more would only take memory for their stacks and scratch.
int distance_calculator::workers_for(std::int64_t tasks) const {
  return static_cast<int>(std::clamp<std::int64_t>(tasks, 1, options_.threads));
}

distance_calculator::distance_calculator(vector_view base, runtime::metric metric,
                                         const distance_options& options)
    : base_(base), metric_(metric), options_(options) {
  require(options.query_tile >= 1 && options.base_tile >= 1 && options.threads >= 1,
          fmt::format("distances: tiles of {} x {} on {}; each must be at least 1",
                      options.query_tile, options.base_tile, amount_of(options.threads, "thread")));
  require(metric != metric::inner_product, "distances: rows have no inner products");
  base_images_ = images_of(base.data, base.count, base.dimension, metric, options.threads);
}

float distance_calculator::finish(double distance) const {
  return static_cast<float>(metric_ == metric::euclidean ? std::sqrt(distance) : distance);
}

void distance_calculator::multiply(const tile& t, scratch& s) const {
  const std::int64_t dimension = base_.dimension;
  for (std::int64_t first = 0; first < dimension; first += depth) {
    const std::int64_t width = std::min(depth, dimension - first);
    const auto convert = [&](const float* vectors, const image* of, std::int64_t count,
                             double* images) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float* const x = vectors + i * dimension + first;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
          images[i * width + c] = (x[c] - of[i].mean) * of[i].scale;
        }
      }
    };
    convert(t.queries, t.of_queries, t.query_count, s.queries.data());
    convert(base_.data + t.first_base * dimension, base_images_.data() + t.first_base, t.base_count,
            s.base.data());
    const auto k = static_cast<blasint>(width);
    const auto n = static_cast<blasint>(t.base_count);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(t.query_count), n, k,
                1, s.queries.data(), k, s.base.data(), k, first == 0 ? 0 : 1, s.products.data(), n);
  }
}

void distance_calculator::write(const tile& t, const scratch& s, float* out, std::int64_t pitch,
                                const std::int64_t* exclude) const {
  const std::int64_t dimension = base_.dimension;
  const double weight = on_unit_sphere(metric_) ? 0.5 : 1;
  const double near = std::ldexp(static_cast<double>(dimension + 4), -27);
  for (std::int64_t i = 0; i < t.query_count; ++i) {
    const std::int64_t query = t.first_query + i;
    const std::int64_t excluded = exclude == nullptr ? base_.count : exclude[query];
    const image& of_x = t.of_queries[i];
    for (std::int64_t j = 0; j < t.base_count; ++j) {
      const std::int64_t neighbour = t.first_base + j;
      if (neighbour == excluded) continue;
      const image& of_y = base_images_[index(neighbour)];
      const double norms = weight * (of_x.square + of_y.square);
      double distance = norms - 2 * weight * s.products[index(i * t.base_count + j)];
      // The condition is false for NaN, so NaN is computed directly too. There, infinity minus a
      // number is infinite.
      if (!(distance >= near * norms)) {
        distance = weight * squared_difference(t.queries + i * dimension, of_x,
                                               base_.data + neighbour * dimension, of_y, dimension);
      }
      out[query * pitch + neighbour - (neighbour > excluded ? 1 : 0)] = finish(distance);
    }
  }
}

void distance_calculator::require_rows(std::int64_t count, std::int64_t pitch,
                                       const std::int64_t* exclude) const {
  const std::int64_t length = base_.count - (exclude == nullptr ? 0 : 1);
  require(pitch >= length, fmt::format("distances: rows of {} in a pitch of {}", length, pitch));
  for (std::int64_t i = 0; exclude != nullptr && i < count; ++i) {
    require(
        exclude[i] >= 0 && exclude[i] < base_.count,
        fmt::format("distances: query {} excludes vector {} of {}", i, exclude[i], base_.count));
  }
}

void distance_calculator::rows(const float* queries, std::int64_t count, float* out,
                               std::int64_t pitch, const std::int64_t* exclude) const {
  if (count == 0 || base_.count == 0) return;
  require_rows(count, pitch, exclude);
  const std::vector<image> of_queries =
      images_of(queries, count, base_.dimension, metric_, options_.threads);
  const std::int64_t query_tiles = (count + options_.query_tile - 1) / options_.query_tile;
  const std::int64_t base_tiles = (base_.count + options_.base_tile - 1) / options_.base_tile;
  const int workers = workers_for(query_tiles * base_tiles);
  std::vector<scratch> buffers = allocate_scratch(workers, count);
  openblas_set_num_threads(1);
#pragma omp parallel for num_threads(workers) schedule(dynamic)
  for (std::int64_t task = 0; task < query_tiles * base_tiles; ++task) {
    const std::int64_t query = task / base_tiles * options_.query_tile;
    const std::int64_t neighbour = task % base_tiles * options_.base_tile;
    const tile t{.queries = queries + query * base_.dimension,
                 .of_queries = of_queries.data() + query,
                 .first_query = query,
                 .query_count = std::min(options_.query_tile, count - query),
                 .first_base = neighbour,
                 .base_count = std::min(options_.base_tile, base_.count - neighbour)};
    scratch& own = buffers[static_cast<std::size_t>(omp_get_thread_num())];
    multiply(t, own);
    write(t, own, out, pitch, exclude);
  }
}

}  // namespace kselect::runtime
