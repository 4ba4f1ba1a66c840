// `kselect knn` finds the exact k nearest neighbours, or the k-NN graph, of vectors.

#include "search/knn/knn.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/answer_table.hpp"
#include "cli/commands.hpp"
#include "cli/idle_threads.hpp"
#include "cli/job_progress.hpp"
#include "cli/knn_options.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/streams.hpp"
#include "search/knn/cuda/product_rate.hpp"
#include "search/knn/median_times.hpp"
#include "search/task/knn_calls.hpp"

namespace kselect::cli {
namespace {

void print_stages_of_products(const median_times& median) {
  const cuda_knn_times& stages = median.stages;
  print_message(
      "medians of {}: {:.3f} ms; queries rounded {:.3f}, thresholds {:.3f}, products {:.3f}, exact "
      "distances, order and proof {:.3f}, done again {:.3f}; with gaps {:.3f}; preparing the "
      "corpus, before: {:.3f}\n",
      median.repeats, median.total, stages.norms, stages.threshold, stages.distance, stages.order,
      stages.redo, stages.elapsed, stages.prepare);
}

void print_times(const cuda_knn_report& report) {
  if (report.times.empty()) return;
  const median_times median = medians_of(report.times);
  if (is_filtered(report.product)) return print_stages_of_products(median);
  const cuda_knn_times& stages = median.stages;
  print_message(
      "medians of {}: {:.3f} ms; norms {:.3f}, distance {:.3f}, selection {:.3f}, merge "
      "{:.3f}, order {:.3f}, done again {:.3f}; with gaps {:.3f}; the bare product {:.3f}\n",
      median.repeats, median.total, stages.norms, stages.distance, stages.selection, stages.merge,
      stages.order, stages.redo, stages.elapsed, stages.bare_product);
}

// The share of what tensor cores reach in a plain product, measured beside a timed search.
void print_share(const knn_run& run) {
  if (run.product_rate == 0) return;
  const double pairs = static_cast<double>(run.request.base.count) *
                       static_cast<double>(run.request.queries().count);
  const double share =
      share_of_products(pairs, run.request.base.dimension,
                        medians_of(run.report.times).total * 1e-3, run.product_rate);
  print_message("{:.1f} % of the {:.0f} TFLOP/s of a plain product in float16\n", 100 * share,
                run.product_rate * 1e-12);
}

// How the answer was proven, for the last line of output.
std::string proof_of(const knn_arguments& o, const backend& place, const cuda_knn_report& report,
                     std::int64_t queries) {
  if (is_filtered(report.product)) {
    return fmt::format(
        "all proven by {}products in {}; {:.1f} survivors a query, {} done again, {} in float64",
        report.half_product ? "half of the " : "", to_string(report.product),
        static_cast<double>(report.survivors) / static_cast<double>(std::max(queries, 1L)),
        amount_of(report.unproven, "query"), report.by_float64);
  }
  if (place.shares_host_memory()) return "all proven";
  const std::string tiles =
      fmt::format("{} x {} tiles{}{}", report.query_tiles, report.corpus_tiles,
                  report.streamed ? ", corpus streamed" : "",
                  report.half_product ? ", half of the product" : "");
  const std::string selection =
      fmt::format("selection proven on {} ({})", amount_of(report.rows_proven, "row"),
                  to_string(cuda_options(o).prove));
  return fmt::format("{}; {}; {} {}", tiles, selection, amount_of(report.unproven, "query"),
                     o.tf32 ? "not provably right with TF32" : "done again in float64");
}

// The output files, or, if none is named, the first rows for a table. All files are opened before
// the work starts, so that a name that cannot be written fails at once. They appear under their
// names only after the work.
class output_files {
 public:
  output_files(const knn_arguments& o, std::int64_t queries)
      : queries_(queries), shows_(o.indices.empty() && o.distances.empty()) {
    const std::array shape = {queries, o.k};
    if (!o.indices.empty()) indices_.emplace(o.indices, element_type::int64, shape);
    if (!o.distances.empty()) distances_.emplace(o.distances, element_type::float32, shape);
    if (!o.record.empty()) record_.emplace(o.record);  // holds the folder
  }

  void append(const knn_block& block) {
    if (indices_) indices_->append(std::as_bytes(block.indices));
    if (distances_) distances_->append(std::as_bytes(block.distances));
    if (shows_) show(block);
  }
  void commit(const knn_run& run) {
    if (indices_) indices_->finish();
    if (distances_) distances_->finish();
    if (indices_) indices_->commit();
    if (distances_) distances_->commit();
    if (record_) record_->add(call_of(run));
  }
  void print_head(std::int64_t k) const {
    if (!shows_) return;
    fmt::print("{}", head_.text(fmt::format("{} x {}", queries_, k),
                                "--indices FILE and --distances FILE write all of them"));
  }

 private:
  void show(const knn_block& block) {
    const std::int64_t k = std::ssize(block.indices) / std::max<std::int64_t>(block.count, 1);
    for (std::int64_t row = 0; row < block.count && head_.wants_more(); ++row) {
      std::vector<shown_hit> first;
      for (std::int64_t j = 0; j < std::min(k, answer_table::most_columns); ++j) {
        const auto at = static_cast<std::size_t>(row * k + j);
        first.push_back({block.distances[at], block.indices[at]});
      }
      head_.add(k, std::move(first));
    }
  }

  std::int64_t queries_;
  bool shows_;
  answer_table head_{"query", "distances"};
  std::optional<npy_writer> indices_, distances_;
  std::optional<call_record> record_;
};

std::array<named_file, 2> outputs_of(const knn_arguments& o) {
  return {{{"--indices", o.indices, true}, {"--distances", o.distances, true}}};
}

void print_outcome(const knn_arguments& o, const knn_request& r, const backend& place) {
  say_beside(
      outputs_of(o),
      fmt::format("{}: {} nearest of {} ({}, dimension {}) for each of {}, {}\n", r.entry.name, r.k,
                  amount_of(r.base.count - (r.exclude_self ? 1 : 0), "vector"), o.metric,
                  r.base.dimension, amount_of(r.queries().count, "query"),
                  proof_of(o, place, *r.report, r.queries().count)));
  say_why_not_products(r.report->other_because);
  if (!r.report->whole_product_because.empty()) {
    print_message("--half-product was not used: {}\n", r.report->whole_product_because);
  }
  print_times(*r.report);
}

// GPUs that are named are opened, or refused, with the ranks.
executor_kind executor_in_tiles(const knn_arguments& o) {
  if (!o.tiled.gpus.empty()) return executor_kind::cuda;
  return require_executor(o.executor, *require_algorithm(o.algorithm).algorithm);
}

int in_tiles(const knn_arguments& o) {
  const bool several = o.tiled.mpi || !o.tiled.gpus.empty() || o.tiled.ranks > 1;
  if (several) let_idle_threads_sleep();
  refuse_what_executor_lacks(o, executor_in_tiles(o));
  if (o.indices.empty() || o.distances.empty()) {
    throw error(failure::usage,
                "a search in tiles writes its answer tile by tile: give --indices FILE and "
                "--distances FILE");
  }
  if (o.timing != 0) {
    throw error(failure::usage,
                "--timing is for a search in memory: leave out --memory-limit, --mpi, --gpus, "
                "--ranks and --resume");
  }
  if (o.half_product && !several) {
    throw error(failure::usage,
                "--half-product is for a search in memory or among ranks: leave out --memory-limit "
                "and --resume, or give --gpus, --ranks or --mpi");
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
                          .product = parse<knn_product>(o.product).value(),
                          .indices = o.indices,
                          .distances = o.distances,
                          .cuda = cuda_options(o)},
                         {.executor = o.executor, .threads = o.threads, .record = o.record});
}

// All files of the job, which are held against each other before anything is read.
job_files files_of(const knn_arguments& o) {
  const std::array<named_file, 4> inputs = {{{"--base", container_of(o.base.front()), true},
                                             {"--query", container_of(o.query), true},
                                             {"--filter", o.filter, true},
                                             {"--filter-each", o.filter_each, true}}};
  return job_files(inputs, outputs_of(o));
}

// Queries of a block that takes seconds, so that progress shows and a signal is heard. With fewer
// the corpus would be read too often.
std::int64_t block_for_progress(const vector_set& base) {
  constexpr std::int64_t fewest = 1024, products_of_seconds = std::int64_t{1} << 35;
  return std::max(fewest,
                  products_of_seconds / std::max<std::int64_t>(base.count * base.dimension, 1));
}

knn_request request_of(const knn_arguments& o, const vector_set& base, const vector_set& query,
                       const registered& entry, const bit_masks& masks, cuda_knn_report& report) {
  return {.base = base,
          .query = o.self ? nullptr : &query,
          .exclude_self = o.exclude_self,
          .metric = parse<metric>(o.metric).value(),
          .k = o.k,
          .entry = *entry.algorithm,
          .block_bytes = (o.block_mib == 0 ? usual_block_mib : o.block_mib) << 20,
          .most_block = block_for_progress(base),
          .product = parse<knn_product>(o.product).value(),
          .filter = filter_of(masks),
          .cuda = cuda_options(o),
          .report = &report};
}

// Shows how far it is, and hears signals.
void search_into(output_files& files, const knn_request& request, backend& place) {
  const std::int64_t queries = request.queries().count;
  job_progress shown("queries",
                     "nothing was written; a search with --memory-limit keeps what it "
                     "has found, and --resume goes on");
  shown.begin("searched", queries);
  knn(request, place, [&](const knn_block& block) {
    files.append(block);
    shown.reached(block.first + block.count);
    if (block.first + block.count < queries) shown.end_if_stopping();
  });
}

int find_neighbours(const knn_arguments& given) {
  const knn_arguments o = with_base(given);
  refuse_combinations(o);
  if (o.tiled.wanted()) return in_tiles(o);
  refuse_what_needs_tiles(o.tiled, o.base.size());
  const job_files held = files_of(o);
  const auto started = std::chrono::system_clock::now();
  const registered& entry = require_algorithm(o.algorithm);
  const auto place = open_backend(require_executor(o.executor, *entry.algorithm), o.threads);
  refuse_what_executor_lacks(o, place->description().kind);
  const vector_set base = load_vectors(o.base.front(), {.limit = o.limit, .streams = true});
  const vector_set query =
      o.self ? vector_set{} : load_vectors(o.query, {.streams = true, .one_row = true});
  const bit_masks masks = masks_of(o, o.self ? base.count : query.count, base.count);
  cuda_knn_report report;
  const knn_request request = request_of(o, base, query, entry, masks, report);
  output_files files(o, request.queries().count);
  search_into(files, request, *place);
  const std::chrono::duration<double> elapsed = std::chrono::system_clock::now() - started;
  // The ceiling is of products of 16 bits.
  const bool of_16_bits = is_filtered(report.product) && report.product != knn_product::int8;
  const bool timed = !report.times.empty() && of_16_bits;
  const knn_run run{.request = request,
                    .entry = entry,
                    .report = report,
                    .place = place->description(),
                    .started = started,
                    .elapsed_s = elapsed.count(),
                    .ceilings = o.record.empty() ? memory_ceilings{} : place->measure_ceilings(),
                    .product_rate = timed ? measure_product_rate(*place) : 0};
  files.commit(run);
  print_outcome(o, request, *place);
  print_share(run);
  files.print_head(o.k);
  return 0;
}

}  // namespace

void add_knn(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("knn", "Exact k-nearest neighbours of vectors, or their k-NN graph");
  const auto o = std::make_shared<knn_arguments>();
  add_knn_options(*command, *o);
  add_knn_prepare(*command, chosen);
  command->callback([&chosen, command, o] {
    if (command->get_subcommands().empty()) chosen = [o] { return find_neighbours(*o); };
  });
}

}  // namespace kselect::cli
