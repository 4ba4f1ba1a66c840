// The library's call. It throws nothing: what the search throws becomes a status.

#include "kselect/knn.hpp"

#include <algorithm>

#include "search/knn/host/search_in_blocks.hpp"
#include "search/knn/library/checks.hpp"
#include "search/knn/library/corpus_state.hpp"

namespace kselect {

using search::caught;
using search::invalid;

knn_corpus::state::state(const vector_rows& vectors, metric m, const place& at,
                         std::span<std::byte> memory, knn_rounding to)
    : where(at), count(vectors.count), dimension(vectors.dimension) {
  if (at.device().kind == executor_kind::cpu) {
    host.emplace(runtime::vector_view{vectors.data, vectors.count, vectors.dimension}, "corpus", m,
                 at.device().threads);
  } else {
    device = search::prepared_on_device(vectors, m, at, memory, to);
  }
}

knn_corpus::knn_corpus() = default;
knn_corpus::~knn_corpus() = default;
knn_corpus::knn_corpus(knn_corpus&&) noexcept = default;
knn_corpus& knn_corpus::operator=(knn_corpus&&) noexcept = default;

std::int64_t knn_corpus::count() const { return state_ == nullptr ? 0 : state_->count; }
std::int64_t knn_corpus::dimension() const { return state_ == nullptr ? 0 : state_->dimension; }

status knn_corpus::prepare(const vector_rows& vectors, metric m, const place& where,
                           std::span<std::byte> memory, knn_rounding to) {
  state_.reset();
  if (!where.obstacle().empty()) return {status_code::unsupported, where.obstacle()};
  if (std::string wrong = search::objection_to_vectors(vectors, "corpus"); !wrong.empty()) {
    return invalid(std::move(wrong));
  }
  if (vectors.count == 0) return invalid("the corpus has no vectors");
  return caught([&]() -> status {
    state_ = std::make_unique<state>(vectors, m, where, memory, to);
    return {};
  });
}

namespace {

// Why the host cannot search for this, as a sentence; empty if it can.
std::string objection(const knn_corpus& corpus, const vector_rows& queries, std::int64_t k,
                      std::span<const float> distances, std::span<const std::int64_t> indices,
                      const knn_options& options) {
  std::string wrong = search::objection_to_vectors(queries, "queries");
  if (wrong.empty()) wrong = search::objection_to_search(corpus, queries.count, k, options);
  if (wrong.empty()) wrong = search::objection_to_answer(queries.count, k, distances, indices);
  if (wrong.empty() && queries.dimension != corpus.dimension()) {
    wrong = "queries have dimension " + std::to_string(queries.dimension) +
            ", but the corpus has " + std::to_string(corpus.dimension());
  }
  return wrong;
}

// The first thresholds of a block by select().
void select_first(const place& where, const row_matrix<float>& rows, std::int64_t k, float* least) {
  const std::span<float> values(least, static_cast<std::size_t>(rows.q * k));
  const status done = select(rows, k, values, std::span<std::int32_t>(), where);
  if (done.ok()) return;
  throw runtime::error(done.code == status_code::out_of_memory ? runtime::failure::resources
                                                               : runtime::failure::unsupported,
                       done.message);
}

}  // namespace

status knn_corpus::search(const vector_rows& queries, std::int64_t k, std::span<float> distances,
                          std::span<std::int64_t> indices, const knn_options& options) const {
  if (std::string wrong = objection(*this, queries, k, distances, indices, options);
      !wrong.empty()) {
    return invalid(std::move(wrong));
  }
  if (!state_->host) {
    return {status_code::unsupported, "the corpus is on a GPU: plan a knn_search"};
  }
  if (queries.count == 0) return {};
  const search::host_request request{.queries = {queries.data, queries.count, queries.dimension},
                                     .name = "queries",
                                     .k = k,
                                     .first_own = options.first_own,
                                     .filter = options.filter,
                                     .threads = state_->where.device().threads};
  const auto select = [&](const float* rows, std::int64_t count, std::int64_t length,
                          float* least) {
    select_first(state_->where, {.data = rows, .q = count, .n = length}, k, least);
  };
  return caught([&]() -> status {
    search_in_blocks(*state_->host, request, select, [&](const search::host_block& found) {
      const std::int64_t at = found.first * k;
      std::ranges::copy(found.indices, indices.begin() + at);
      if (!distances.empty()) std::ranges::copy(found.distances, distances.begin() + at);
    });
    return {};
  });
}

status knn(const vector_rows& corpus, const vector_rows& queries, std::int64_t k,
           std::span<float> distances, std::span<std::int64_t> indices, metric m,
           const knn_options& options, const place& where) {
  if (where.device().kind != executor_kind::cpu) {
    return {status_code::unsupported,
            "knn() is for place::cpu(): on a GPU prepare a knn_corpus and plan a knn_search"};
  }
  knn_corpus prepared;
  if (status done = prepared.prepare(corpus, m, where); !done.ok()) return done;
  return prepared.search(queries, k, distances, indices, options);
}

}  // namespace kselect
