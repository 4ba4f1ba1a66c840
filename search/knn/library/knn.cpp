// The library's call. It throws nothing: what the search throws becomes a status.

#include "kselect/knn.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "runtime/error.hpp"
#include "search/knn/host/search_in_blocks.hpp"

namespace kselect {
namespace {

using search::host_block;

std::string number(std::int64_t value) { return std::to_string(value); }

status invalid(std::string message) { return {status_code::invalid, std::move(message)}; }

// Why these are no vectors, as a sentence; empty if they are.
std::string objection(const vector_rows& v, const char* name) {
  if (v.count < 0) return std::string(name) + ".count = " + number(v.count) + " is negative";
  if (v.dimension < 1) {
    return std::string(name) + ".dimension = " + number(v.dimension) + ", but must be at least 1";
  }
  if (v.data == nullptr && v.count != 0) return std::string(name) + ".data is null";
  return {};
}

template <class Work>
status caught(Work&& work) {
  try {
    return work();
  } catch (const runtime::error& failed) {
    switch (failed.category()) {
      case runtime::failure::input:
      case runtime::failure::usage:
        return {status_code::invalid, failed.what()};
      case runtime::failure::resources:
        return {status_code::out_of_memory, failed.what()};
      case runtime::failure::unsupported:
        return {status_code::unsupported, failed.what()};
      default:
        return {status_code::failed, failed.what()};
    }
  } catch (const std::bad_alloc&) {
    return {status_code::out_of_memory, "no memory for the search"};
  } catch (const std::exception& failed) {
    return {status_code::failed, failed.what()};
  }
}

}  // namespace

struct knn_corpus::state {
  state(const vector_rows& vectors, metric m, const place& at)
      : where(at),
        corpus({vectors.data, vectors.count, vectors.dimension}, "corpus", m, at.device().threads) {
  }

  place where;
  search::prepared_corpus corpus;
};

knn_corpus::knn_corpus() = default;
knn_corpus::~knn_corpus() = default;
knn_corpus::knn_corpus(knn_corpus&&) noexcept = default;
knn_corpus& knn_corpus::operator=(knn_corpus&&) noexcept = default;

std::int64_t knn_corpus::count() const { return state_ == nullptr ? 0 : state_->corpus.count(); }
std::int64_t knn_corpus::dimension() const {
  return state_ == nullptr ? 0 : state_->corpus.dimension();
}

status knn_corpus::prepare(const vector_rows& vectors, metric m, const place& where) {
  state_.reset();
  if (!where.obstacle().empty()) return {status_code::unsupported, where.obstacle()};
  if (where.device().kind != executor_kind::cpu) {
    return {status_code::unsupported, "a corpus on a GPU is not built into this version"};
  }
  if (std::string wrong = objection(vectors, "corpus"); !wrong.empty()) return invalid(wrong);
  if (vectors.count == 0) return invalid("the corpus has no vectors");
  return caught([&]() -> status {
    state_ = std::make_unique<state>(vectors, m, where);
    return {};
  });
}

namespace {

// What is asked of a search, as a sentence why it cannot be; empty if it can.
std::string objection(const knn_corpus& corpus, const vector_rows& queries, std::int64_t k,
                      std::span<const float> distances, std::span<const std::int64_t> indices,
                      const knn_options& options) {
  if (corpus.count() == 0) return "the corpus is not prepared";
  if (std::string wrong = objection(queries, "queries"); !wrong.empty()) return wrong;
  if (queries.dimension != corpus.dimension()) {
    return "queries have dimension " + number(queries.dimension) + ", but the corpus has " +
           number(corpus.dimension());
  }
  const bool own = options.first_own >= 0;
  if (own && options.first_own > corpus.count() - queries.count) {
    return "queries from corpus vector " + number(options.first_own) + " on are " +
           number(queries.count) + ", but the corpus has " + number(corpus.count());
  }
  const std::int64_t most = corpus.count() - (own ? 1 : 0);
  if (k < 1 || k > most) return "k = " + number(k) + ", but must be 1 to " + number(most);
  const std::int64_t words = knn_filter::words_for(corpus.count());
  if (options.filter.each() && options.filter.pitch < words) {
    return "filter.pitch = " + number(options.filter.pitch) + ", but must be 0 or at least " +
           number(words);
  }
  if (options.filter.each() && options.filter.words == nullptr) return "filter.words is null";
  const auto needed = static_cast<std::size_t>(queries.count) * static_cast<std::size_t>(k);
  if (indices.size() < needed) {
    return "indices has " + std::to_string(indices.size()) +
           " elements, but Q * k = " + std::to_string(needed) + " are written";
  }
  if (!distances.empty() && distances.size() < needed) {
    return "distances has " + std::to_string(distances.size()) +
           " elements, but Q * k = " + std::to_string(needed) + " are written";
  }
  return {};
}

}  // namespace

status knn_corpus::search(const vector_rows& queries, std::int64_t k, std::span<float> distances,
                          std::span<std::int64_t> indices, const knn_options& options) const {
  if (std::string wrong = objection(*this, queries, k, distances, indices, options);
      !wrong.empty()) {
    return invalid(std::move(wrong));
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
    const row_matrix<float> matrix{.data = rows, .q = count, .n = length};
    const std::span<float> values(least, static_cast<std::size_t>(count * k));
    const status done =
        kselect::select(matrix, k, values, std::span<std::int32_t>(), state_->where);
    if (done.ok()) return;
    throw runtime::error(done.code == status_code::out_of_memory ? runtime::failure::resources
                                                                 : runtime::failure::unsupported,
                         done.message);
  };
  return caught([&]() -> status {
    search_in_blocks(state_->corpus, request, select, [&](const host_block& found) {
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
  knn_corpus prepared;
  if (status done = prepared.prepare(corpus, m, where); !done.ok()) return done;
  return prepared.search(queries, k, distances, indices, options);
}

}  // namespace kselect
