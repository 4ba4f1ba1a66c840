#include "search/knn/fused/memory_plan.hpp"

#include <algorithm>
#include <string>

#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/half_order.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {
namespace {

constexpr std::int64_t most_by_float64 = 256;  // queries at once
constexpr std::int64_t of_bound = 4;           // float64 distances get this part of it
constexpr std::int64_t half_bucket_bytes = 2 * 4 * limit_buckets::count;

std::int64_t padded(std::int64_t rows) { return tiles_of(rows) * tile_rows; }

std::int64_t lists_bytes(const pass_plan& pass, std::int64_t rows) {
  const list_sizes sizes = list_sizes::of(pass, rows);
  return 4 * sizes.lists + 8 * sizes.entries;
}

// Slabs, square, error, threshold, place among the unproven.
std::int64_t batch_bytes(const search_shape& s, std::int64_t rows) {
  return padded(rows) * (slabs_of(s.dimension, s.factors) * slab_chunks * 16 + 32);
}

// The lists of all vectors; limit, start and offset of each, the same again in the order of limits
// with the rounded vectors (half_memory).
std::int64_t half_bytes(const half_plan& half, const search_shape& s) {
  const std::int64_t vector = slabs_of(s.dimension, s.factors) * slab_chunks * 16;
  return padded(s.n) * (60 + vector + std::int64_t{half.room} * 8) + half_bucket_bytes;
}

problem ranking_of(const search_plan& plan, std::int64_t rows) {
  problem p;
  p.q = rows;
  p.n = plan.columns();
  p.k = plan.matrix_rank;
  p.direction = direction::largest;
  p.payload = payload::kth_value;
  return p;
}

problem nearest_of(const search_shape& s, std::int64_t rows) {
  problem p;
  p.q = rows;
  p.n = s.n;
  p.k = s.k;
  p.type = dtype::float64;
  return p;
}

std::int64_t workspace_of(const problem& p, std::span<const std::string_view> names,
                          const device& place) {
  const chosen_plan chosen(p, names, place);
  return chosen.entry == nullptr ? 0 : static_cast<std::int64_t>(chosen.plan.workspace());
}

// A graph that multiplies each pair twice needs no list of every vector at once.
search_plan plan_whole_within(search_shape shape, const device& place) {
  shape.half_product = false;
  search_plan plan = plan_within(shape, place);
  plan.half.impossible_because =
      "the lists of all vectors do not fit into the memory of the search";
  return plan;
}

// The rows that are measured at once, their distances and their selection.
std::int64_t by_float64_bytes(const search_plan& plan, const search_shape& s, const device& place) {
  const std::int64_t rows = std::min(float64_rows(plan, s.n), s.q);
  return rows * (s.n * 8 + s.k * 12) + workspace_of(nearest_of(s, rows), settled, place);
}

[[noreturn]] void refuse(const search_shape& s, std::int64_t needed) {
  const auto mib = [](std::int64_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; };
  throw error(failure::resources,
              "the products' filter needs " + mib(needed) + " for " + std::to_string(s.n) +
                  " vectors of dimension " + std::to_string(s.dimension) +
                  " with k = " + std::to_string(s.k) + ", but has " + mib(s.bytes - 1));
}

}  // namespace

pass_plan plan_again(std::int64_t n, std::int64_t rows, const device& place, product_body body) {
  return plan_pass(0, tiles_of(n), rows, room_again.survivors, place, body);
}

std::int64_t float64_rows(const search_plan& plan, std::int64_t n) {
  const std::int64_t fits = plan.float64_bytes / (n * static_cast<std::int64_t>(sizeof(double)));
  return std::clamp<std::int64_t>(fits, 1, most_by_float64);
}

std::int64_t search_bytes(const search_plan& plan, const search_shape& s, const device& place) {
  const std::int64_t in_float64 = by_float64_bytes(plan, s, place);
  if (!plan.filters()) return in_float64;
  const std::int64_t rows = plan.rows;
  const std::int64_t lists =
      plan.half.taken() ? half_bytes(plan.half, s) : lists_bytes(plan.second, rows);
  std::int64_t bytes = batch_bytes(s, rows) + lists + padded(rows) * plan.columns() * 4 +
                       workspace_of(ranking_of(plan, rows), rankers, place);
  if (plan.first.tiles() != 0) bytes += lists_bytes(plan.first, rows);
  if (s.leaves_out && !s.each) bytes += padded(s.n) * 4;  // starts of their own
  const pass_plan again = plan_again(s.n, rows, place, plan.body);
  return bytes + batch_bytes(s, rows) + std::max(lists_bytes(again, rows), in_float64);
}

std::int64_t least_search_bytes(search_shape shape, const device& place) {
  shape.most_rows = tile_rows;
  search_plan plan = plan_search(shape, place);
  plan.float64_bytes = 0;
  return search_bytes(plan, shape, place);
}

search_plan plan_within(const search_shape& shape, const device& place) {
  search_plan plan = plan_search(shape, place);
  if (shape.bytes == 0) return plan;
  search_shape fewer = shape;
  while (true) {
    plan.float64_bytes = std::min(plan.float64_bytes, shape.bytes / of_bound);
    const std::int64_t needed = search_bytes(plan, shape, place);
    if (needed <= shape.bytes) return plan;
    if (!plan.filters() || plan.rows <= tile_rows) {
      if (plan.half.taken()) return plan_whole_within(shape, place);
      refuse(shape, needed);
    }
    fewer.most_rows = std::max<std::int64_t>(tile_rows, plan.rows / 2 / tile_rows * tile_rows);
    plan = plan_search(fewer, place);
  }
}

}  // namespace kselect::search::fused
