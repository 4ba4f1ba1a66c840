#include "search/task/vectors.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/workload/rows.hpp"
#include "harness/workload/vectors.hpp"
#include "runtime/error.hpp"

namespace kselect::search {
namespace {

vector_set generated(const workload& components, const char* name, int threads) {
  vector_set made;
  made.count = components.q;
  made.dimension = components.n;
  made.data.resize(static_cast<std::size_t>(components.input_elements()));
  made.source = name;
  generate_rows(components, std::as_writable_bytes(std::span(made.data)), threads);
  return made;
}

class generated_vectors_input final : public vectors_input {
 public:
  explicit generated_vectors_input(int threads) : threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {{"kind", "generated"}}; }
  std::int64_t dimension() const override { return 0; }
  std::shared_ptr<const problem_vectors> vectors(const workload& p, std::int64_t dimension,
                                                 bool graph) const override {
    auto made = std::make_shared<problem_vectors>();
    made->base = generated(corpus_of(p, dimension), "the generated corpus", threads_);
    if (!graph) {
      made->query = generated(queries_of(p, dimension, 0), "the generated queries", threads_);
    }
    return made;
  }

 private:
  int threads_;
};

vector_set first_of(const vector_set& all, std::int64_t count) {
  vector_set some;
  some.count = count;
  some.dimension = all.dimension;
  some.source = all.source;
  some.data.assign(all.data.begin(),
                   all.data.begin() + static_cast<std::ptrdiff_t>(count * all.dimension));
  return some;
}

class dataset_vectors_input final : public vectors_input {
 public:
  explicit dataset_vectors_input(const dataset_input& spec) {
    load_options options;
    options.limit = spec.limit.value_or(0);
    base_ = load_vectors(spec.base, options);
    if (spec.query) query_ = load_vectors(*spec.query);
    if (query_ && query_->dimension != base_.dimension) {
      throw error(failure::input, fmt::format("{} has dimension {}, but {} has {}", query_->source,
                                              query_->dimension, base_.source, base_.dimension));
    }
  }

  std::optional<dataset_sizes> sizes() const override {
    return dataset_sizes{.base = base_.count, .queries = query_ ? query_->count : base_.count};
  }
  nlohmann::ordered_json description() const override {
    nlohmann::ordered_json about = {
        {"kind", "dataset"},
        {"name", std::filesystem::path(base_.source).filename().string()},
        {"hash", hash_text(base_)},
        {"query_hash", hash_text(query_ ? *query_ : base_)},
        {"dimension", base_.dimension}};
    return about;
  }
  std::int64_t dimension() const override { return base_.dimension; }
  std::shared_ptr<const problem_vectors> vectors(const workload& p, std::int64_t,
                                                 bool graph) const override {
    auto made = std::make_shared<problem_vectors>();
    made->base = first_of(base_, p.n);
    if (!graph) made->query = first_of(query_.value(), p.q);
    return made;
  }

 private:
  vector_set base_;
  std::optional<vector_set> query_;
};

}  // namespace

std::string hash_text(const vector_set& set) { return fmt::format("{:016x}", set.hash); }

std::unique_ptr<vectors_input> open_vectors(const input_choice& choice) {
  if (const auto* const dataset = std::get_if<dataset_input>(&choice.spec)) {
    return std::make_unique<dataset_vectors_input>(*dataset);
  }
  return std::make_unique<generated_vectors_input>(choice.threads);
}

}  // namespace kselect::search
