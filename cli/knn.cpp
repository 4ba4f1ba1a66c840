// `kselect knn` finds the exact k nearest neighbours, or the k-NN graph, of vectors.

#include "search/knn/knn.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/knn_in_tiles.hpp"
#include "runtime/error.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/streams.hpp"
#include "search/knn/knn_record.hpp"

namespace kselect::cli {
namespace {

struct knn_arguments {
  std::vector<std::string> base;
  std::string query, indices, distances, record;
  std::string algorithm = "auto";
  tiled_options tiled;
  std::string metric = "sqeuclidean";
  std::string executor = "auto";
  std::string prove = "auto";
  std::int64_t k = 0, limit = 0, block_mib = 256, memory_mib = 0;
  bool self = false, exclude_self = false;
  bool tf32 = false, half_product = false, sum_by_warp = false;
  int threads = 0, timing = 0;
};

cuda_knn_options cuda_options(const knn_arguments& o) {
  cuda_knn_options cuda;
  cuda.memory_bytes = o.memory_mib << 20;
  cuda.tf32 = o.tf32;
  cuda.half_product = o.half_product;
  cuda.sum_by_warp = o.sum_by_warp;
  // Proving all rows downloads every distance on a GPU; on the host it costs nothing.
  cuda.prove = o.prove == "auto" ? proof_scope::sample : parse<proof_scope>(o.prove).value();
  cuda.repeats = o.timing;
  return cuda;
}

void refuse_cuda_options(const knn_arguments& o, const backend& place) {
  if (!place.shares_host_memory()) return;
  if (o.tf32 || o.half_product || o.sum_by_warp || o.memory_mib != 0 || o.timing != 0 ||
      !o.record.empty()) {
    throw error(failure::usage,
                fmt::format("--memory, --tf32, --half-product, --sum-by-warp, --timing and "
                            "--record are for executor cuda; this is {}",
                            to_string(place.description().kind)));
  }
  if (o.prove != "auto" && o.prove != "all") {
    throw error(failure::usage,
                fmt::format("--prove {} is for executor cuda; {} proves every query at no cost",
                            o.prove, to_string(place.description().kind)));
  }
}

void print_times(std::span<const cuda_knn_times> repeats) {
  if (repeats.empty()) return;
  const median_times median = medians_of(repeats);
  const cuda_knn_times& stages = median.stages;
  print_message(
      "medians of {}: {:.3f} ms; norms {:.3f}, distance {:.3f}, selection {:.3f}, merge "
      "{:.3f}, order {:.3f}, done again {:.3f}; with gaps {:.3f}; the bare product {:.3f}\n",
      median.repeats, median.total, stages.norms, stages.distance, stages.selection, stages.merge,
      stages.order, stages.redo, stages.elapsed, stages.bare_product);
}

// How the answer was proven, for the last line of output.
std::string proof_of(const knn_arguments& o, const backend& place, const cuda_knn_report& report) {
  if (place.shares_host_memory()) return "all proven";
  const std::string tiles =
      fmt::format("{} x {} tiles{}{}", report.query_tiles, report.corpus_tiles,
                  report.streamed ? ", corpus streamed" : "",
                  report.half_product ? ", half of the product" : "");
  const std::string selection =
      fmt::format("selection proven on {} rows ({})", report.rows_proven, o.prove);
  return fmt::format("{}; {}; {} queries {}", tiles, selection, report.unproven,
                     o.tf32 ? "not provably right with TF32" : "done again in float64");
}

void refuse_combinations(const knn_arguments& o) {
  if (o.query.empty() == !o.self) {
    throw error(failure::usage,
                "give either --query FILE or --self (every base vector is a query)");
  }
  if (o.exclude_self && !o.self) {
    throw error(failure::usage, "--exclude-self needs --self: a query file has no own vectors");
  }
  if (o.half_product && !o.self) {
    throw error(failure::usage, "--half-product needs --self: it is the k-NN graph's symmetry");
  }
  if (!o.record.empty() && o.timing == 0 && !o.tiled.wanted()) {
    throw error(failure::usage,
                "--record needs --timing N, or a search in tiles: it records times");
  }
}

// The output files. All are opened before the work starts, so that a name that cannot be written
// fails at once. They appear under their names only after the work.
class output_files {
 public:
  output_files(const knn_arguments& o, std::int64_t queries)
      : queries_(queries),
        indices_(o.indices, element_type::int64, std::array{queries, o.k}),
        distances_(o.distances, element_type::float32, std::array{queries, o.k}) {
    if (!o.record.empty()) record_.emplace(o.record);
  }

  void append(const knn_block& block) {
    indices_.append(std::as_bytes(block.indices));
    distances_.append(std::as_bytes(block.distances));
    if (isatty(STDERR_FILENO) == 0) return;
    print_message("\r{} of {} queries", block.first + block.count, queries_);
    if (block.first + block.count == queries_) print_message("\r\033[K");
  }
  void commit(const knn_run& run) {
    if (record_) {
      const std::string text = knn_record(run);
      record_->write(std::as_bytes(std::span(text)));
      record_->finish();
    }
    indices_.finish();
    distances_.finish();
    indices_.commit();
    distances_.commit();
    if (record_) record_->commit();
  }

 private:
  std::int64_t queries_;
  npy_writer indices_, distances_;
  std::optional<atomic_file> record_;
};

void print_outcome(const knn_arguments& o, const knn_request& r, const backend& place) {
  fmt::print("{}: {} nearest of {} vectors ({}, dimension {}) for each of {} queries, {}\n",
             r.entry.name, r.k, r.base.count - (r.exclude_self ? 1 : 0), o.metric, r.base.dimension,
             r.queries().count, proof_of(o, place, *r.report));
  if (!r.report->whole_product_because.empty()) {
    print_message("--half-product was not used: {}\n", r.report->whole_product_because);
  }
  print_times(r.report->times);
}

int in_tiles(const knn_arguments& o) {
  if (o.half_product || o.timing != 0) {
    throw error(failure::usage,
                "--half-product and --timing are for a search in memory: leave out --memory-limit, "
                "--mpi, --gpus, --ranks and --resume");
  }
  return search_in_tiles(o.tiled,
                         {.base = {o.base.begin(), o.base.end()},
                          .query = o.self ? std::vector<std::filesystem::path>{}
                                          : std::vector<std::filesystem::path>{o.query},
                          .limit = o.limit,
                          .exclude_self = o.exclude_self,
                          .metric = parse<metric>(o.metric).value(),
                          .k = o.k,
                          .entry = require_algorithm(o.algorithm),
                          .indices = o.indices,
                          .distances = o.distances,
                          .cuda = cuda_options(o)},
                         {.executor = o.executor, .threads = o.threads, .record = o.record});
}

// All files of the job, which are held against each other before anything is read.
job_files files_of(const knn_arguments& o) {
  const std::array<named_file, 2> inputs = {
      {{"--base", container_of(o.base.front())}, {"--query", container_of(o.query)}}};
  const std::array<named_file, 3> outputs = {
      {{"--indices", o.indices}, {"--distances", o.distances}, {"--record", o.record}}};
  return job_files(inputs, outputs);
}

int find_neighbours(const knn_arguments& o) {
  refuse_combinations(o);
  if (o.tiled.wanted()) return in_tiles(o);
  refuse_what_needs_tiles(o.tiled, o.base.size());
  const job_files held = files_of(o);
  const auto started = std::chrono::system_clock::now();
  const registered& entry = require_algorithm(o.algorithm);
  const auto place = open_backend(require_executor(o.executor, *entry.algorithm), o.threads);
  refuse_cuda_options(o, *place);
  load_options base_options;
  base_options.limit = o.limit;
  const vector_set base = load_vectors(o.base.front(), base_options);
  const vector_set query = o.self ? vector_set{} : load_vectors(o.query, {});
  cuda_knn_report report;
  const knn_request request{.base = base,
                            .query = o.self ? nullptr : &query,
                            .exclude_self = o.exclude_self,
                            .metric = parse<metric>(o.metric).value(),
                            .k = o.k,
                            .entry = *entry.algorithm,
                            .block_bytes = o.block_mib << 20,
                            .cuda = cuda_options(o),
                            .report = &report};
  output_files files(o, request.queries().count);
  knn(request, *place, [&](const knn_block& block) { files.append(block); });
  const std::chrono::duration<double> elapsed = std::chrono::system_clock::now() - started;
  files.commit({.request = request,
                .entry = entry,
                .report = report,
                .threads = place->description().threads,
                .started = started,
                .elapsed_s = elapsed.count(),
                .ceilings = o.record.empty() ? memory_ceilings{} : place->measure_ceilings()});
  print_outcome(o, request, *place);
  return 0;
}

void add_cuda_options(CLI::App& command, knn_arguments& o) {
  constexpr const char* group = "Executor cuda";
  command
      .add_option("--memory", o.memory_mib,
                  "MiB of device memory: half for the corpus, half for distances and algorithm; 0: "
                  "from what is free")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--tf32", o.tf32,
                "products by tensor cores with 11-bit factors: faster, neighbours not exact")
      ->group(group);
  command
      .add_flag("--half-product", o.half_product,
                "with --self: compute half of the matrix product and use it twice, if corpus and "
                "candidates fit into device memory")
      ->group(group);
  command.add_flag("--sum-by-warp", o.sum_by_warp, "norms by a warp a vector instead of Thrust")
      ->group(group);
  std::vector<std::string> scopes = {"auto"};
  for (const auto& entry : names<proof_scope>) scopes.emplace_back(entry.name);
  command
      .add_option(
          "--prove", o.prove,
          "rows of every selection to prove; auto: sample on cuda. Elsewhere every query is proven")
      ->check(CLI::IsMember(scopes))
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--timing", o.timing,
          "repeat so often and print the time of each stage on stderr; the first of several "
          "repeats proves, and does not count")
      ->check(CLI::Range(1, 10000))
      ->group(group);
  command
      .add_option("--record", o.record,
                  "with --timing, or in tiles on any executor: where to write all times (.json)")
      ->group(group);
}

}  // namespace

void add_knn(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("knn", "Exact k-nearest neighbours of vectors, or their k-NN graph");
  const auto o = std::make_shared<knn_arguments>();
  command
      ->add_option(
          "--base", o->base,
          "vectors: .npy, .fvecs, .bvecs, .ivecs, idx (in memory also .gz), .hdf5[:dataset]; "
          "in tiles also several files, one after the other")
      ->required();
  command->add_option("--query", o->query, "query vectors, same formats");
  command->add_flag("--self", o->self, "every base vector is a query: the k-NN graph");
  command->add_flag("--exclude-self", o->exclude_self, "a vector is not its own neighbour");
  command->add_option("--limit", o->limit, "read only so many base vectors; 0 means all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  std::vector<std::string> metrics;
  for (const auto& entry : names<metric>) metrics.emplace_back(entry.name);
  command->add_option("--metric", o->metric, "distance")
      ->check(CLI::IsMember(metrics))
      ->capture_default_str();
  command->add_option("--k", o->k, "neighbours of each query")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--algorithm", o->algorithm, "name from `kselect list`")
      ->capture_default_str();
  command->add_option("--indices", o->indices, "where to write indices, int64 Q x k (.npy)")
      ->required();
  command->add_option("--distances", o->distances, "where to write distances, float32 Q x k (.npy)")
      ->required();
  command
      ->add_option("--block", o->block_mib,
                   "MiB of candidates and distances held at once; not on cuda")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_tiled_options(*command, o->tiled);
  add_cuda_options(*command, *o);
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command->callback([&chosen, o] { chosen = [o] { return find_neighbours(*o); }; });
}

}  // namespace kselect::cli
