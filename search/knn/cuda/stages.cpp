#if KSELECT_HAS_CUDA

#include "search/knn/cuda/stages.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/distance/cuda/device_array.hpp"

namespace kselect::search {

knn_stages::knn_stages(const knn_request& r, backend& place, knn_plan plan, corpus_source source)
    : request_(r),
      place_(place),
      plan_(std::move(plan)),
      corpus_(place, std::move(source), r.metric, how(), plan_),
      distances_(place.executor().stream, r.cuda.tf32),
      selection_(r.entry, place, r.cuda.prove, plan_.tile_queries, plan_.kept),
      best_(place, plan_.groups(), plan_.tile_queries, plan_.candidate_pitch),
      order_(place, plan_.tile_queries, plan_.kept),
      watch_(static_cast<cudaStream_t>(place.executor().stream),
             r.cuda.repeats > 0 || r.cuda.time_stages) {
  const std::int64_t queries = plan_.tile_queries;
  if (r.query != nullptr || plan_.slots != 0) {
    own_queries_.emplace(place, queries * plan_.query_tiles, r.base.dimension, r.metric, how());
  }
  rows_ = make_array<float>(place, queries * plan_.pitch);
  if (plan_.by_pairs && plan_.groups() > 1)
    transposed_ = make_array<float>(place, queries * plan_.pitch);
  const std::int64_t answers = queries * plan_.query_tiles;
  proven_ = make_array<std::uint8_t>(place, answers);
  chosen_ = make_array<std::int32_t>(place, answers);
  indices_ = make_array<std::int64_t>(place, answers * r.k);
  nearest_ = make_array<float>(place, answers * r.k);
  farthest_ = make_array<double>(place, answers);
  report_.times.resize(watch_.on() ? static_cast<std::size_t>(std::max(1, r.cuda.repeats)) : 0);
  report_.corpus_tiles = corpus_.count();
  report_.streamed = plan_.streamed;
  report_.half_product = plan_.by_pairs;
  report_.whole_product_because = plan_.whole_product_because;
}

float* knn_stages::rows() const { return as<float>(rows_); }
float* knn_stages::transposed_rows() const { return as<float>(transposed_); }

void knn_stages::load_queries(std::int64_t first, std::int64_t count) {
  if (!own_queries_) return;
  const auto d = static_cast<std::size_t>(request_.base.dimension);
  place_.to_device(reinterpret_cast<std::byte*>(own_queries_->raw()),
                   std::as_bytes(std::span(request_.queries().data)
                                     .subspan(static_cast<std::size_t>(first) * d,
                                              static_cast<std::size_t>(count) * d)));
}

void knn_stages::summarise_corpus() {
  watch_.time(&cuda_knn_times::norms, [&] { corpus_.summarise(); });
}

void knn_stages::summarise_queries(std::int64_t count) {
  if (!own_queries_) return;
  watch_.time(&cuda_knn_times::norms, [&] { own_queries_->summarise(count, nullptr); });
}

query_rows knn_stages::loaded_queries(std::int64_t first, std::int64_t count) const {
  query_rows queries;
  queries.vectors = own_queries_->view(first + count).slice(first, count);
  queries.rows = count;
  return queries;
}

query_rows knn_stages::queries(std::int64_t first, std::int64_t count) const {
  query_rows queries;
  queries.vectors = own_queries_ ? own_queries_->view(count) : corpus_.whole().slice(first, count);
  queries.rows = count;
  queries.first_own = request_.exclude_self ? first : -1;
  return queries;
}

void knn_stages::select(std::int64_t group, float* distances, const query_rows& queries,
                        const vectors_on_device& tile, std::int64_t first) {
  selected found{};
  watch_.time(&cuda_knn_times::selection,
              [&] { found = selection_.run(distances, queries.rows, tile.count, plan_.pitch); });
  best_.add(group, found, queries, tile, first, selection_, watch_);
}

void knn_stages::order(std::int64_t group, const query_rows& queries, std::int64_t at) {
  const std::int64_t dimension = request_.base.dimension;
  error_bound bound{distances_.error_factor(dimension),
                    static_cast<double>(dimension) * distance_rows::smallest_step,
                    distance_rows::largest_scale, corpus_.largest_weighted_square()};
  if (queries.chosen != nullptr) {
    bound.factor = static_cast<double>(dimension + 8) * 0x1p-52;
    bound.directly = true;
  }
  const candidate_order::answer to{.indices = as<std::int64_t>(indices_) + at * request_.k,
                                   .distances = as<float>(nearest_) + at * request_.k,
                                   .farthest = as<double>(farthest_) + at,
                                   .proven = as<std::uint8_t>(proven_) + at,
                                   .k = request_.k};
  watch_.time(&cuda_knn_times::order, [&] {
    order_.write(queries, best_.of(group), request_.metric, bound,
                 plan_.kept == request_.base.count, to, place_.executor().stream);
  });
}

query_rows knn_stages::again(std::int64_t group, query_rows queries,
                             const std::vector<std::int32_t>& which) {
  auto* const chosen =
      as<std::int32_t>(chosen_) + (plan_.by_pairs ? 0 : group * plan_.tile_queries);
  place_.to_device(reinterpret_cast<std::byte*>(chosen), std::as_bytes(std::span(which)));
  queries.chosen = chosen;
  queries.rows = static_cast<std::int64_t>(which.size());
  forget(group);
  return queries;
}

void knn_stages::select_again(std::int64_t group, const query_rows& queries, std::int64_t at,
                              const vectors_on_device& tile, std::int64_t first) {
  distances_.directly(queries.vectors, queries.chosen, queries.rows, as<double>(farthest_) + at,
                      tile, rows(), plan_.pitch);
  select(group, rows(), queries, tile, first);
}

void knn_stages::answer(std::int64_t group, const query_rows& queries, int repeat) {
  order(group, queries, 0);
  std::vector<std::int32_t> which = unproven(0, queries.rows, repeat == 0);
  for (int time = 0; time < times_again && !which.empty(); ++time) {
    watch_.time(&cuda_knn_times::redo, [&] {
      const query_rows chosen = again(group, queries, which);
      each_tile([&](const vectors_on_device& tile, std::int64_t first) {
        select_again(group, chosen, 0, tile, first);
      });
      order(group, chosen, 0);
    });
    which = those_of(which, unproven(0, std::ssize(which), false));
  }
}

std::vector<std::int32_t> those_of(const std::vector<std::int32_t>& numbers,
                                   const std::vector<std::int32_t>& places) {
  std::vector<std::int32_t> those;
  for (const std::int32_t at : places) those.push_back(numbers[static_cast<std::size_t>(at)]);
  return those;
}

std::vector<std::int32_t> knn_stages::unproven(std::int64_t at, std::int64_t count, bool counted) {
  std::vector<std::uint8_t> proven(static_cast<std::size_t>(count));
  place_.to_host(std::as_writable_bytes(std::span(proven)), proven_.data() + at);
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < proven.size(); ++row) {
    if (proven[row] == 0) rows.push_back(static_cast<std::int32_t>(row));
  }
  if (counted) report_.unproven += std::ssize(rows);
  if (request_.cuda.tf32) rows.clear();
  return rows;
}

void knn_stages::deliver(std::int64_t first, std::int64_t count,
                         const std::function<void(const knn_block&)>& sink) {
  ++report_.query_tiles;
  host_indices_.resize(static_cast<std::size_t>(count * request_.k));
  host_distances_.resize(static_cast<std::size_t>(count * request_.k));
  place_.to_host(std::as_writable_bytes(std::span(host_indices_)), indices_.data());
  place_.to_host(std::as_writable_bytes(std::span(host_distances_)), nearest_.data());
  sink({.first = first, .count = count, .indices = host_indices_, .distances = host_distances_});
}

void knn_stages::add_times(int repeat) {
  if (!watch_.on()) return;
  report_.times[static_cast<std::size_t>(repeat)] += watch_.take();
}

cuda_knn_report knn_stages::report() const {
  cuda_knn_report all = report_;
  all.rows_proven = selection_.rows_proven();
  return all;
}

}  // namespace kselect::search

#endif
