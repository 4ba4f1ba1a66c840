#include "harness/plan/input.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/plan/rows_file.hpp"
#include "harness/workload/device/rows_on_device.hpp"
#include "harness/workload/rows.hpp"
#include "harness/workload/vectors.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/distance/distance.hpp"
#include "runtime/error.hpp"
#include "runtime/io/vectors.hpp"

#if KSELECT_HAS_CUDA
#include "runtime/distance/cuda/distance_matrix.hpp"
#endif

namespace kselect::harness {
namespace {

class generated_source final : public input_source {
 public:
  explicit generated_source(int threads) : threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {{"kind", "generated"}}; }
  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                     int variant) const override {
    generate_rows(other(p, variant), rows, threads_);
    return std::nullopt;
  }
  // A GPU makes rows faster than they can be copied to it.
  bool makes_rows_at(const backend& place) const override { return !place.shares_host_memory(); }
  std::optional<distance_stage> fill_at(backend& place, const workload& p, std::byte* rows,
                                        int variant) const override {
    generate_rows(place, other(p, variant), rows);
    return std::nullopt;
  }

 private:
  static workload other(workload p, int variant) {
    p.seed = seed_of(p, variant);
    return p;
  }

  int threads_;
};

struct distance_options {
  runtime::metric metric;
  bool exclude_self;
  int threads;
};

// Writes the distances from Q of `queries` to all vectors of `base`, in the problem's layout. The
// first query is number `at`; after the last query comes number 0.
void write_distances(const workload& p, vector_view base, vector_view queries,
                     const distance_options& how, std::int64_t at, float* out) {
  const distance_calculator calculator(base, how.metric, {.threads = how.threads});
  // The calculator writes row-major. Column-major rows are staged and transposed a few at a time.
  const bool transposed = p.layout == layout::column_major;
  const std::int64_t most_rows = transposed ? 256 : p.q;
  const host_buffer some_rows(transposed ? static_cast<std::size_t>(most_rows * p.n) * sizeof(float)
                                         : 0);
  auto* const staged = reinterpret_cast<float*>(some_rows.data());
  std::vector<std::int64_t> own;
  for (std::int64_t row = 0, count = 0; row < p.q; row += count) {
    count = std::min({most_rows, p.q - row, queries.count - at});
    if (how.exclude_self) {
      own.resize(static_cast<std::size_t>(count));
      std::iota(own.begin(), own.end(), at);
    }
    float* const to = transposed ? staged : out + row * p.effective_pitch();
    calculator.rows(queries.data + at * base.dimension, count, to,
                    transposed ? p.n : p.effective_pitch(), own.empty() ? nullptr : own.data());
    if (transposed) {
#pragma omp parallel for num_threads(how.threads)
      for (std::int64_t c = 0; c < p.n; ++c) {
        for (std::int64_t r = 0; r < count; ++r) out[p.offset(row + r, c)] = to[r * p.n + c];
      }
    }
    at = (at + count) % queries.count;
  }
}

// The same, and returns the time.
distance_stage fill_distances(const workload& p, vector_view base, vector_view queries,
                              const distance_options& how, std::int64_t at, float* out) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  write_distances(p, base, queries, how, at, out);
  return {executor_kind::cpu, "steady",
          std::chrono::duration<double, std::nano>(clock::now() - begin).count()};
}

// Both sides as float32, and three numbers of each vector that the distances need.
std::size_t bytes_of_vectors(const workload& p, const generated_vectors& spec) {
  const auto vectors = static_cast<std::size_t>(p.n) + static_cast<std::size_t>(p.q);
  const std::size_t a_vector =
      static_cast<std::size_t>(spec.dimension) * sizeof(float) + 3 * sizeof(double);
  // Either factor has a bound, their product may still be beyond any memory and 64 bits.
  std::size_t bytes = 0;
  const bool beyond = __builtin_mul_overflow(vectors, a_vector, &bytes);
  return beyond ? std::size_t{1} << 62 : std::min(bytes, std::size_t{1} << 62);
}

nlohmann::ordered_json describe(const generated_vectors& spec) {
  return {{"dimension", spec.dimension}, {"metric", to_string(spec.metric)}};
}

// Distances between generated vectors (Tang et al. 2015, Sec. IV), computed on the CPU.
class generated_vectors_source final : public input_source {
 public:
  generated_vectors_source(const generated_vectors& spec, int threads)
      : spec_(spec), threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override {
    return {{"kind", "generated"}, {"vectors", describe(spec_)}};
  }
  std::size_t bytes_to_fill(const workload& p) const override { return bytes_of_vectors(p, spec_); }
  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                     int variant) const override {
    if (p.q == 0 || p.n == 0) return std::nullopt;
    const std::vector<float> base = vectors(corpus_of(p, spec_.dimension));
    const std::vector<float> queries = vectors(queries_of(p, spec_.dimension, variant));
    return fill_distances(p, {base.data(), p.n, spec_.dimension},
                          {queries.data(), p.q, spec_.dimension}, {spec_.metric, false, threads_},
                          0, reinterpret_cast<float*>(rows.data()));
  }

 private:
  std::vector<float> vectors(const workload& components) const {
    std::vector<float> made(static_cast<std::size_t>(components.input_elements()));
    generate_rows(components, std::as_writable_bytes(std::span(made)), threads_);
    return made;
  }

  generated_vectors spec_;
  int threads_;
};

#if KSELECT_HAS_CUDA
// The same vectors, but a GPU makes them and computes their distances. The host gets a copy of
// these rows, so that all cells of a sweep select from the same bits.
class vectors_on_gpu_source final : public input_source {
 public:
  vectors_on_gpu_source(const generated_vectors& spec, int threads)
      : spec_(spec), gpu_(open_backend(executor_kind::cuda, threads)) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  // The last bits of a distance depend on the GPU, so it is part of the input.
  nlohmann::ordered_json description() const override {
    return {{"kind", "generated"},
            {"vectors", describe(spec_)},
            {"distances", {{"executor", "cuda"}, {"device", gpu_->description().name}}}};
  }
  std::size_t bytes_to_fill(const workload& p) const override { return bytes_of_vectors(p, spec_); }
  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                     int variant) const override {
    const device_buffer made(*gpu_, rows.size());
    const auto stage = fill_at(*gpu_, p, made.data(), variant);
    gpu_->to_host(rows, made.data());
    return stage;
  }
  bool makes_rows_at(const backend& place) const override { return !place.shares_host_memory(); }
  std::optional<distance_stage> fill_at(backend& place, const workload& p, std::byte* rows,
                                        int variant) const override {
    if (p.q == 0 || p.n == 0) return std::nullopt;
    distance_matrix distances(place, p, spec_.metric, spec_.dimension);
    generate_rows(place, corpus_of(p, spec_.dimension),
                  reinterpret_cast<std::byte*>(distances.base()));
    generate_rows(place, queries_of(p, spec_.dimension, variant),
                  reinterpret_cast<std::byte*>(distances.queries()));
    const auto write = [&] {
      distances.write(reinterpret_cast<float*>(rows));
      return status{};
    };
    write();  // the first product of a cuBLAS handle also allocates memory and loads code
    const timed_run run = place.time(write);
    if (!run.outcome.ok()) throw error(failure::unsupported, run.outcome.message);
    return distance_stage{executor_kind::cuda, place.clock_name(), run.nanoseconds};
  }

 private:
  generated_vectors spec_;
  std::unique_ptr<backend> gpu_;
};
#endif

// Distances from the first Q queries to the first n base vectors, computed on the CPU.
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

  // Variant v has Q queries from number v * Q on; after the last query comes number 0.
  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                     int variant) const override {
    if (p.q == 0 || p.n == 0) return std::nullopt;
    // If a row leaves out its own vector, n distances need n + 1 base vectors, and the query must
    // be one of them.
    vector_view base = base_.view();
    base.count = p.n + (spec_.exclude_self ? 1 : 0);
    vector_view from = queries().view();
    if (spec_.exclude_self) from.count = base.count;
    const std::int64_t first = variant * p.q % queries().count;
    return fill_distances(p, base, from, {spec_.metric, spec_.exclude_self, threads_},
                          first < from.count ? first : 0, reinterpret_cast<float*>(rows.data()));
  }

 private:
  const vector_set& queries() const { return query_ ? *query_ : base_; }

  dataset_input spec_;
  vector_set base_;
  std::optional<vector_set> query_;
  int threads_;
};

// Whether a cell of the sweep may run on a GPU here. The GPU then makes the rows of all cells.
bool uses_gpu(const sweep_config& config, std::optional<executor_kind> executor) {
  const auto is_gpu = [](executor_kind kind) { return kind == executor_kind::cuda; };
  const bool asked_for =
      executor ? is_gpu(*executor)
               : config.executors.empty() || std::ranges::any_of(config.executors, is_gpu);
  return asked_for && why_unavailable(executor_kind::cuda).empty();
}

std::unique_ptr<input_source> open_vectors(const generated_vectors& spec, int threads,
                                           [[maybe_unused]] bool on_gpu) {
#if KSELECT_HAS_CUDA
  if (on_gpu) return std::make_unique<vectors_on_gpu_source>(spec, threads);
#endif
  return std::make_unique<generated_vectors_source>(spec, threads);
}

}  // namespace

std::optional<distance_stage> input_source::fill_at(backend&, const workload& p, std::byte*,
                                                    int) const {
  throw error(failure::usage, fmt::format("{}: rows are not made there", to_string(p)));
}

input_choice choose_input(const sweep_config& config, const std::optional<std::string>& dataset,
                          int threads, std::optional<executor_kind> executor) {
  input_choice chosen{config.input, uses_gpu(config, executor), threads_to_use(threads),
                      config.task, config.axes.own};
  if (!config.parts.empty() && dataset) {
    throw error(failure::usage,
                fmt::format("{}: --dataset given, but the config has parts: write each dataset "
                            "into its part",
                            config.file_name));
  }
  for (const sweep_config& part : config.parts) {
    chosen.parts.push_back(choose_input(part, dataset, threads, executor));
  }
  if (!config.parts.empty()) return chosen;
  auto* const spec = std::get_if<dataset_input>(&chosen.spec);
  if (spec == nullptr && dataset) {
    throw error(failure::usage,
                fmt::format("{}: --dataset given, but /input names no dataset", config.file_name));
  }
  if (auto* const rows = std::get_if<rows_input>(&chosen.spec)) {
    rows->file = dataset_path(config, rows->file).string();
  }
  if (spec != nullptr) {
    spec->base = dataset.value_or(dataset_path(config, spec->base).string());
    if (spec->query) spec->query = dataset_path(config, *spec->query).string();
  }
  return chosen;
}

std::unique_ptr<input_source> open_input(const input_choice& choice) {
  if (const auto* const generated = std::get_if<generated_input>(&choice.spec)) {
    if (!generated->vectors) return std::make_unique<generated_source>(choice.threads);
    return open_vectors(*generated->vectors, choice.threads, choice.on_gpu);
  }
  if (const auto* const rows = std::get_if<rows_input>(&choice.spec)) {
    return open_rows(rows->file, choice.threads);
  }
  const auto& spec = std::get<dataset_input>(choice.spec);
  load_options options;
  options.limit = spec.limit.value_or(0);
  vector_set base = load_vectors(spec.base, options);
  std::optional<vector_set> query;
  if (spec.query) query = load_vectors(*spec.query, {});
  if (query && query->dimension != base.dimension) {
    throw error(failure::input, fmt::format("{} has dimension {}, but {} has {}", query->source,
                                            query->dimension, base.source, base.dimension));
  }
  return std::make_unique<dataset_source>(spec, std::move(base), std::move(query), choice.threads);
}

}  // namespace kselect::harness
