#include "search/knn/library/checks.hpp"

namespace kselect::search {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

std::string objection_to_vectors(const vector_rows& v, const char* name) {
  if (v.count < 0) return std::string(name) + ".count = " + number(v.count) + " is negative";
  if (v.dimension < 1) {
    return std::string(name) + ".dimension = " + number(v.dimension) + ", but must be at least 1";
  }
  if (v.data == nullptr && v.count != 0) return std::string(name) + ".data is null";
  return {};
}

std::string objection_to_search(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                                const knn_options& options) {
  if (corpus.count() == 0) return "the corpus is not prepared";
  if (queries < 0) return "the number of queries = " + number(queries) + " is negative";
  const bool own = options.first_own >= 0;
  if (own && options.first_own > corpus.count() - queries) {
    return "queries from corpus vector " + number(options.first_own) + " on are " +
           number(queries) + ", but the corpus has " + number(corpus.count());
  }
  const std::int64_t most = corpus.count() - (own ? 1 : 0);
  if (k < 1 || k > most) return "k = " + number(k) + ", but must be 1 to " + number(most);
  const std::int64_t words = knn_filter::words_for(corpus.count());
  if (options.filter.each() && options.filter.pitch < words) {
    return "filter.pitch = " + number(options.filter.pitch) + ", but must be 0 or at least " +
           number(words);
  }
  if (options.filter.each() && options.filter.words == nullptr) return "filter.words is null";
  return {};
}

std::string objection_to_answer(std::int64_t queries, std::int64_t k,
                                std::span<const float> distances,
                                std::span<const std::int64_t> indices) {
  const auto needed = static_cast<std::size_t>(queries) * static_cast<std::size_t>(k);
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

}  // namespace kselect::search
