#include "harness/run/input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/backend/host_backend.hpp"
#include "harness/distance/distance.hpp"
#include "harness/error.hpp"
#include "harness/io/vectors.hpp"
#include "harness/workload/rows.hpp"

namespace kselect {
namespace {

class generated_source final : public input_source {
 public:
  explicit generated_source(int threads) : threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {{"kind", "generated"}}; }
  void fill(const problem& p, std::span<std::byte> rows) const override {
    generate_rows(p, rows, threads_);
  }

 private:
  int threads_;
};

// Distances from the first Q queries to the first n base vectors, on the CPU.
class dataset_source final : public input_source {
 public:
  dataset_source(const dataset_input& spec, vector_set base, std::optional<vector_set> query,
                 int threads)
      : spec_(spec), base_(std::move(base)), query_(std::move(query)), threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override {
    return dataset_sizes{.base = base_.count, .queries = queries().count};
  }

  nlohmann::ordered_json description() const override {
    return {{"kind", "dataset"},
            {"name", std::filesystem::path(base_.source).filename().string()},
            {"hash", fmt::format("{:016x}", base_.hash)},
            {"query_hash", fmt::format("{:016x}", queries().hash)},
            {"dimension", base_.dimension},
            {"metric", to_string(spec_.metric)},
            {"exclude_self", spec_.exclude_self}};
  }

  void fill(const problem& p, std::span<std::byte> rows) const override {
    if (p.q == 0 || p.n == 0) return;
    if (p.layout == layout::column_major) {
      transpose(p, rows);
    } else {
      fill_rows(p, reinterpret_cast<float*>(rows.data()), p.effective_pitch());
    }
  }

 private:
  const vector_set& queries() const { return query_ ? *query_ : base_; }

  // Row-major, which is what the calculator writes. A row of n distances that leaves out its own
  // vector comes from n + 1 base vectors.
  void fill_rows(const problem& p, float* out, std::int64_t pitch) const {
    vector_view base = base_.view();
    base.count = p.n + (spec_.exclude_self ? 1 : 0);
    const distance_calculator calculator(base, spec_.metric, {.threads = threads_});
    std::vector<std::int64_t> own;
    if (spec_.exclude_self) {
      own.resize(static_cast<std::size_t>(p.q));
      for (std::int64_t r = 0; r < p.q; ++r) own[static_cast<std::size_t>(r)] = r;
    }
    calculator.rows(queries().data.data(), p.q, out, pitch, own.empty() ? nullptr : own.data());
  }

  void transpose(const problem& p, std::span<std::byte> out) const {
    const host_buffer row_major(static_cast<std::size_t>(p.q * p.n) * sizeof(float));
    auto* const from = reinterpret_cast<float*>(row_major.data());
    auto* const to = reinterpret_cast<float*>(out.data());
    fill_rows(p, from, p.n);
    for (std::int64_t r = 0; r < p.q; ++r) {
      for (std::int64_t c = 0; c < p.n; ++c) to[p.offset(r, c)] = from[r * p.n + c];
    }
  }

  dataset_input spec_;
  vector_set base_;
  std::optional<vector_set> query_;
  int threads_;
};

// Whether two problems have the very same rows (k matters to kth_ties alone).
bool same_rows(const problem& a, const problem& b) {
  return a.n == b.n && a.q == b.q && a.type == b.type && a.layout == b.layout &&
         a.pitch == b.pitch && a.distribution == b.distribution && a.seed == b.seed &&
         (a.k == b.k || a.distribution.kind != distribution_kind::kth_ties);
}

}  // namespace

std::unique_ptr<input_source> open_input(const sweep_config& config,
                                         const std::optional<std::string>& dataset, int threads) {
  const int count = threads > 0 ? threads : available_threads();
  const auto* const spec = std::get_if<dataset_input>(&config.input);
  if (spec == nullptr) {
    if (dataset) {
      throw error(failure::usage, fmt::format("{}: --dataset given, but /input names no dataset",
                                              config.file_name));
    }
    return std::make_unique<generated_source>(count);
  }
  load_options options;
  options.limit = spec->limit.value_or(0);
  vector_set base = load_vectors(
      dataset ? std::filesystem::path(*dataset) : dataset_path(config, spec->base), options);
  std::optional<vector_set> query;
  if (spec->query) query = load_vectors(dataset_path(config, *spec->query), {});
  if (query && query->dimension != base.dimension) {
    throw error(failure::input, fmt::format("{} has dimension {}, but {} has {}", query->source,
                                            query->dimension, base.source, base.dimension));
  }
  return std::make_unique<dataset_source>(*spec, std::move(base), std::move(query), count);
}

std::span<const std::byte> row_cache::rows(const problem& p) {
  const std::size_t bytes = p.input_bytes();
  if (held_ && same_rows(*held_, p)) return {rows_.data(), bytes};
  held_.reset();
  rows_ = host_buffer();  // before the new one is allocated: both may not fit
  rows_ = host_buffer(bytes);
  ++generation_;
  source_.fill(p, {rows_.data(), bytes});
  held_ = p;
  return {rows_.data(), bytes};
}

}  // namespace kselect
