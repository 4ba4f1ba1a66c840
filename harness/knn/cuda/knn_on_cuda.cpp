// A pass ranks all queries of a tile against one corpus tile after another. What a tile selects
// goes beside the best so far, and the same algorithm selects from the two. So the candidates of a
// pass are exactly those of one selection from the whole row, up to ties of the last.

#include "harness/knn/cuda/knn_on_cuda.hpp"

#if KSELECT_HAS_CUDA

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "harness/distance/cuda/distance_rows.hpp"
#include "harness/error.hpp"
#include "harness/knn/cuda/candidates.hpp"
#include "harness/knn/cuda/corpus_tiles.hpp"
#include "harness/knn/cuda/proven_selection.hpp"
#include "harness/knn/cuda/stopwatch.hpp"

namespace kselect {
namespace {

constexpr std::int64_t alignment = 64;          // of rows, in elements: 256 bytes
constexpr std::int64_t enough_queries = 1024;   // for a tile to keep a GPU busy
constexpr std::int64_t most_queries = 1 << 19;  // of a tile: distance_rows.hpp
constexpr std::int64_t widest_tile = 1 << 30;
constexpr std::int64_t wide = 4096;  // below it, launches take longer than the work
constexpr std::int64_t distance_bytes = sizeof(float);

std::int64_t aligned(std::int64_t elements) {
  return (elements + alignment - 1) / alignment * alignment;
}

template <class T>
T* as(const device_buffer& memory) {
  return reinterpret_cast<T*>(memory.data());
}

template <class T>
device_buffer make(backend& place, std::int64_t count) {
  return {place, static_cast<std::size_t>(count) * sizeof(T)};
}

// Bytes for the corpus, for distances with all that goes with them, and for the algorithm.
struct memory_bounds {
  std::int64_t corpus, tile, workspace;
};

memory_bounds bounds(const cuda_knn_options& o) {
  if (o.memory_bytes != 0) {
    return {o.memory_bytes / 2, o.memory_bytes / 4, o.memory_bytes / 4};
  }
  std::size_t available = 0, total = 0;
  require_cuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  const auto there = static_cast<std::int64_t>(available);
  return {there / 2, std::min(there / 8, std::int64_t{2} << 30), there / 4};
}

problem row_problem(const knn_request& r, std::int64_t rows, std::int64_t n, std::int64_t kept) {
  problem p;
  p.q = rows;
  p.n = n;
  p.k = kept;
  p.pitch = aligned(n);
  p.index = narrow_index(r.entry);
  p.distribution.kind = distribution_kind::external;
  return p;
}

// How many are selected for each query: k, its own vector where that is left out, and a margin that
// makes the answer provable; without the margin where the algorithm's k ends before.
std::int64_t choose_kept(const knn_request& r, const backend& place) {
  const std::int64_t least = r.k + (r.exclude_self ? 1 : 0);
  const std::int64_t margin = std::max<std::int64_t>(8, r.k / 8);
  const std::int64_t n = std::min(r.base.count, r.entry.promises.limits.max_n);
  problem p = row_problem(r, 1, n, std::min(least + margin, r.base.count));
  if (check_support(r.entry, p, place.description())) return p.k;
  p.k = least;
  const support answer = check_support(r.entry, p, place.description());
  if (answer) return p.k;
  throw error(failure::unsupported,
              fmt::format("{} cannot do {}: {}", r.entry.name, to_string(p), answer.reason));
}

std::int64_t workspace_bytes(const knn_request& r, const backend& place, std::int64_t rows,
                             std::int64_t n, std::int64_t kept) {
  if (r.entry.workspace == nullptr) return 0;
  return static_cast<std::int64_t>(
      r.entry.workspace(row_problem(r, rows, n, kept), place.description()));
}

// Of all buffers whose size goes with the number of queries, but the distances.
std::int64_t bytes_per_query(const knn_request& r, std::int64_t kept) {
  constexpr std::int64_t candidate = sizeof(float) + sizeof(std::int64_t) + sizeof(double);
  constexpr std::int64_t pair = sizeof(float) + sizeof(std::int64_t);
  return 2 * aligned(2 * kept) * candidate + kept * pair + r.k * pair +
         candidate_order::bytes_per_row(kept);
}

corpus_tiles::shape corpus_shape(const knn_request& r, const backend& place, std::int64_t kept,
                                 const memory_bounds& limit) {
  const std::int64_t queries = std::min(r.queries().count, enough_queries);
  const std::int64_t fits = (limit.tile / queries - bytes_per_query(r, kept)) / distance_bytes;
  const std::int64_t most = std::min({r.base.count, widest_tile, r.entry.promises.limits.max_n});
  // At least two selections long, so that no tile is shorter than one.
  const std::int64_t least = std::min(2 * kept, r.base.count);
  if (most < least) {
    throw error(failure::unsupported,
                fmt::format("{} takes rows of {}: too short to select {} of {} tile by tile",
                            r.entry.name, most, kept, r.base.count));
  }
  std::int64_t width =
      std::clamp(fits / alignment * alignment, std::min(most, std::max(least, wide)), most);
  while (width > least && workspace_bytes(r, place, 1, width, kept) > limit.workspace) {
    width = std::max(least, width / 2);
  }
  return {width, least, limit.corpus};
}

// Queries of a tile: as many as the bounds let be.
std::int64_t choose_queries(const knn_request& r, const backend& place, std::int64_t kept,
                            std::int64_t width, const memory_bounds& limit) {
  const std::int64_t fits =
      limit.tile / (aligned(width) * distance_bytes + bytes_per_query(r, kept));
  std::int64_t rows = std::clamp<std::int64_t>(
      fits, 1, std::min({r.queries().count, most_queries, r.entry.promises.limits.max_q}));
  while (rows > 1 && workspace_bytes(r, place, rows, width, kept) > limit.workspace) {
    rows = (rows + 1) / 2;
  }
  return rows;
}

class cuda_knn {
 public:
  cuda_knn(const knn_request& r, backend& place);
  void answer_all(const std::function<void(const knn_block&)>& sink);
  cuda_knn_report report() const;

 private:
  void answer(std::int64_t first, std::int64_t count);
  query_rows prepare_queries(std::int64_t first, std::int64_t count, stopwatch& watch);
  void pass(const query_rows& queries, std::uint8_t* proven, stopwatch& watch);
  void rank(const query_rows& queries, const vectors_on_device& tile);
  std::vector<std::int32_t> unproven(std::int64_t count);
  bool half_product_serves(const query_rows& queries) const;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_.executor().stream); }
  // Queries of the resident corpus need no copy.
  bool queries_are_resident() const { return r_.query == nullptr && !corpus_.streamed(); }
  norm_reduction how() const {
    return r_.cuda.sum_by_warp ? norm_reduction::by_warp : norm_reduction::by_key;
  }

  const knn_request& r_;
  backend& place_;
  const memory_bounds limit_;
  const std::int64_t kept_;
  corpus_tiles corpus_;
  const std::int64_t pitch_, tile_queries_, candidate_pitch_;
  distance_rows distances_;
  proven_selection selection_;
  candidate_order order_;
  std::optional<device_vectors> own_queries_;
  device_buffer rows_, proven_, chosen_, indices_, nearest_;
  struct candidate_memory {
    device_buffer ranked, index, exact;
  };
  std::array<candidate_memory, 2> candidate_memory_;
  std::array<candidates, 2> candidates_;
  stopwatch watch_;
  cuda_knn_report report_;
  std::vector<std::int64_t> host_indices_;
  std::vector<float> host_distances_;
};

cuda_knn::cuda_knn(const knn_request& r, backend& place)
    : r_(r),
      place_(place),
      limit_(bounds(r.cuda)),
      kept_(choose_kept(r, place)),
      corpus_(place, r.base.view(), r.metric, how(), corpus_shape(r, place, kept_, limit_)),
      pitch_(aligned(corpus_.widest())),
      tile_queries_(choose_queries(r, place, kept_, corpus_.widest(), limit_)),
      candidate_pitch_(aligned(2 * kept_)),
      distances_(place.executor().stream, r.cuda.tf32),
      selection_(r.entry, place, r.cuda.prove, tile_queries_, kept_),
      order_(place, tile_queries_, kept_),
      watch_(stream(), r.cuda.repeats > 0) {
  if (!queries_are_resident()) {
    own_queries_.emplace(place, tile_queries_, r.base.dimension, r.metric, how());
  }
  rows_ = make<float>(place, tile_queries_ * pitch_);
  proven_ = make<std::uint8_t>(place, tile_queries_);
  chosen_ = make<std::int32_t>(place, tile_queries_);
  indices_ = make<std::int64_t>(place, tile_queries_ * r.k);
  nearest_ = make<float>(place, tile_queries_ * r.k);
  const std::int64_t places = tile_queries_ * candidate_pitch_;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    candidate_memory& m = candidate_memory_[i];
    m = {make<float>(place, places), make<std::int64_t>(place, places),
         make<double>(place, places)};
    candidates_[i] = {as<float>(m.ranked), as<std::int64_t>(m.index), as<double>(m.exact),
                      candidate_pitch_};
  }
  report_.times.resize(static_cast<std::size_t>(r.cuda.repeats));
  report_.corpus_tiles = corpus_.count();
  report_.streamed = corpus_.streamed();
}

cuda_knn_report cuda_knn::report() const {
  cuda_knn_report all = report_;
  all.rows_proven = selection_.rows_proven();
  return all;
}

void cuda_knn::answer_all(const std::function<void(const knn_block&)>& sink) {
  const std::int64_t all = r_.queries().count;
  for (std::int64_t first = 0; first < all; first += tile_queries_) {
    const std::int64_t count = std::min(tile_queries_, all - first);
    answer(first, count);
    ++report_.query_tiles;
    host_indices_.resize(static_cast<std::size_t>(count * r_.k));
    host_distances_.resize(static_cast<std::size_t>(count * r_.k));
    place_.to_host(std::as_writable_bytes(std::span(host_indices_)), indices_.data());
    place_.to_host(std::as_writable_bytes(std::span(host_distances_)), nearest_.data());
    sink({.first = first, .count = count, .indices = host_indices_, .distances = host_distances_});
  }
}

void cuda_knn::answer(std::int64_t first, std::int64_t count) {
  stopwatch untimed(stream(), false);
  if (own_queries_) {
    const std::int64_t d = r_.base.dimension;
    place_.to_device(reinterpret_cast<std::byte*>(own_queries_->raw()),
                     std::as_bytes(std::span(r_.queries().data)
                                       .subspan(static_cast<std::size_t>(first * d),
                                                static_cast<std::size_t>(count * d))));
  }
  for (int repeat = 0; repeat < std::max(1, r_.cuda.repeats); ++repeat) {
    query_rows queries = prepare_queries(first, count, watch_);
    pass(queries, as<std::uint8_t>(proven_), watch_);
    const std::vector<std::int32_t> again = unproven(count);
    if (repeat == 0) report_.unproven += static_cast<std::int64_t>(again.size());
    if (!again.empty() && !r_.cuda.tf32) {
      place_.to_device(chosen_.data(), std::as_bytes(std::span(again)));
      queries.chosen = as<std::int32_t>(chosen_);
      queries.rows = static_cast<std::int64_t>(again.size());
      watch_.time(&cuda_knn_times::redo, [&] { pass(queries, nullptr, untimed); });
    }
    if (r_.cuda.repeats == 0) continue;
    const cuda_knn_times now = watch_.take();
    cuda_knn_times& sum = report_.times[static_cast<std::size_t>(repeat)];
    for (const auto stage :
         {&cuda_knn_times::norms, &cuda_knn_times::distance, &cuda_knn_times::selection,
          &cuda_knn_times::order, &cuda_knn_times::redo, &cuda_knn_times::bare_product}) {
      sum.*stage += now.*stage;
    }
  }
}

query_rows cuda_knn::prepare_queries(std::int64_t first, std::int64_t count, stopwatch& watch) {
  query_rows queries;
  watch.time(&cuda_knn_times::norms, [&] {
    if (first == 0) corpus_.summarise();
    if (own_queries_) own_queries_->summarise(count, nullptr);
  });
  queries.vectors = own_queries_ ? own_queries_->view(count) : corpus_.whole().slice(first, count);
  queries.rows = count;
  queries.first_own = r_.exclude_self ? first : -1;
  return queries;
}

// Answers the rows: by float32 products where `proven` is to be written, else directly in float64.
void cuda_knn::pass(const query_rows& queries, std::uint8_t* proven, stopwatch& watch) {
  std::size_t best = 0;  // which of the two sets holds the candidates
  for (std::int64_t t = 0; t < corpus_.count(); ++t) {
    vectors_on_device tile;
    watch.time(&cuda_knn_times::norms, [&] { tile = corpus_.open(t); });
    if (watch.on() && proven != nullptr) {
      watch.time(&cuda_knn_times::bare_product,
                 [&] { distances_.product_only(queries.vectors, tile, as<float>(rows_), pitch_); });
    }
    watch.time(&cuda_knn_times::distance, [&] {
      if (proven != nullptr) return rank(queries, tile);
      distances_.directly(queries.vectors, queries.chosen, queries.rows, tile, as<float>(rows_),
                          pitch_);
    });
    corpus_.prefetch_after(t);
    selected found{};
    watch.time(&cuda_knn_times::selection,
               [&] { found = selection_.run(as<float>(rows_), queries.rows, tile.count, pitch_); });
    watch.time(&cuda_knn_times::order, [&] {
      place_candidates(found, queries, tile, corpus_.first(t), candidates_[best],
                       t == 0 ? 0 : kept_, stream());
    });
    corpus_.close(t);
    if (t == 0) continue;
    watch.time(&cuda_knn_times::selection, [&] {
      found = selection_.run(candidates_[best].ranked, queries.rows, 2 * kept_, candidate_pitch_);
    });
    watch.time(&cuda_knn_times::order, [&] {
      gather_candidates(found, queries.rows, candidates_[best], candidates_[best ^ 1], stream());
    });
    best ^= 1;
  }
  const std::int64_t dimension = r_.base.dimension;
  const error_bound bound{distances_.error_factor(dimension),
                          static_cast<double>(dimension) * distance_rows::smallest_step,
                          distance_rows::largest_scale, corpus_.largest_weighted_square()};
  watch.time(&cuda_knn_times::order, [&] {
    order_.write(queries, candidates_[best], r_.metric, bound, kept_ == r_.base.count,
                 {as<std::int64_t>(indices_), as<float>(nearest_), proven, r_.k}, stream());
  });
}

bool cuda_knn::half_product_serves(const query_rows& queries) const {
  return r_.cuda.half_product && queries_are_resident() && queries.rows == r_.base.count &&
         corpus_.count() == 1;
}

void cuda_knn::rank(const query_rows& queries, const vectors_on_device& tile) {
  if (half_product_serves(queries)) {
    return distances_.multiply_by_itself(tile, as<float>(rows_), pitch_);
  }
  distances_.multiply(queries.vectors, tile, as<float>(rows_), pitch_);
}

std::vector<std::int32_t> cuda_knn::unproven(std::int64_t count) {
  std::vector<std::uint8_t> proven(static_cast<std::size_t>(count));
  place_.to_host(std::as_writable_bytes(std::span(proven)), proven_.data());
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < proven.size(); ++row) {
    if (proven[row] == 0) rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

}  // namespace

void knn_on_cuda(const knn_request& r, backend& place,
                 const std::function<void(const knn_block&)>& sink) {
  if (r.base.count >= std::int64_t{1} << 32) {
    throw error(failure::unsupported,
                fmt::format("{} has {} vectors; executor cuda takes fewer than 2^32", r.base.source,
                            r.base.count));
  }
  cuda_knn work(r, place);
  work.answer_all(sink);
  if (r.report != nullptr) *r.report = work.report();
}

}  // namespace kselect

#endif
