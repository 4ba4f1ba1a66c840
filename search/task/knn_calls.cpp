#include "search/task/knn_calls.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "search/knn/median_times.hpp"
#include "search/task/call_task.hpp"
#include "search/task/settings.hpp"
#include "search/task/vectors.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

const char* yes_or_no(bool is) { return is ? "yes" : "no"; }

json input_json(const knn_request& r) {
  json about = {{"kind", "dataset"},
                {"name", std::filesystem::path(r.base.source).filename().string()},
                {"hash", hash_text(r.base)},
                {"query_hash", hash_text(r.queries())},
                {"dimension", r.base.dimension}};
  if (r.filter.words != nullptr) {
    const std::int64_t masks = r.filter.each() ? r.queries().count : 1;
    const std::int64_t words = (r.base.count + 31) / 32;
    const std::size_t bytes = static_cast<std::size_t>(masks * words) * sizeof(std::uint32_t);
    about["filter_hash"] = fmt::format("{:016x}", XXH3_64bits(r.filter.words, bytes));
  }
  return about;
}

cell cell_of(const knn_request& r, const registered& entry, const cuda_knn_report& report) {
  cell c = knn_call_cell(entry, executor_kind::cuda);
  c.problem.n = r.base.count;
  c.problem.q = r.queries().count;
  c.problem.k = r.k;
  c.of_problem = {{"dimension", r.base.dimension},
                  {"metric", std::string(to_string(r.metric))},
                  {"queries", queries_text(r.query == nullptr, r.exclude_self)}};
  if (r.filter.words != nullptr) {
    const std::string_view masks = r.filter.each() ? "each" : "one";
    c.of_problem.emplace_back("filter", std::string(masks));
  }
  c.of_entry = {{"product", std::string(to_string(report.product))},
                {"half_product", std::string(yes_or_no(report.half_product))}};
  if (!is_filtered(report.product)) {
    c.of_entry.emplace_back("sum_by_warp", std::string(yes_or_no(r.cuda.sum_by_warp)));
    c.of_entry.emplace_back("prove", std::string(to_string(r.cuda.prove)));
  }
  if (r.cuda.memory_bytes != 0) c.of_entry.emplace_back("device_memory", r.cuda.memory_bytes >> 20);
  return c;
}

std::vector<stage_log> stages_of(std::span<const cuda_knn_times> rounds) {
  std::vector<stage_log> all;
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    if (stage.name == "elapsed") continue;  // the time itself
    stage_log log{std::string(stage.name), stage.of_total, {}};
    for (const cuda_knn_times& t : rounds)
      log.rounds_ns.push_back(t.*stage.time * ns_per_millisecond);
    all.push_back(std::move(log));
  }
  return all;
}

std::vector<std::pair<std::string, double>> counts_of(const knn_run& run) {
  const cuda_knn_report& r = run.report;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  std::vector<std::pair<std::string, double>> all = {
      {"survivors", number(r.survivors)},     {"done_again", number(r.unproven)},
      {"by_float64", number(r.by_float64)},   {"rows_proven", number(r.rows_proven)},
      {"query_tiles", number(r.query_tiles)}, {"corpus_tiles", number(r.corpus_tiles)}};
  if (run.product_rate > 0) {
    const double pairs = number(run.request.base.count) * number(run.request.queries().count);
    all.emplace_back("product_flop_per_s", run.product_rate);
    all.emplace_back("share_of_products",
                     share_of_products(pairs, run.request.base.dimension,
                                       medians_of(r.times).total * 1e-3, run.product_rate));
  }
  return all;
}

}  // namespace

measured_call call_of(const knn_run& run) {
  const auto rounds = counted(run.report.times);
  measured_call call{.what = cell_of(run.request, run.entry, run.report),
                     .input = input_json(run.request),
                     .threads = run.place.threads,
                     .device = run.place.name,
                     .clock = "cuda_event",
                     .stages = stages_of(rounds),
                     .counts = counts_of(run),
                     .proof = proof_text(run.report.product, run.request.cuda.prove),
                     .proven = run.report.rows_proven > 0,
                     .started = run.started,
                     .elapsed_s = run.elapsed_s,
                     .ceilings = run.ceilings};
  for (const cuda_knn_times& t : rounds) call.rounds_ns.push_back(t.elapsed * ns_per_millisecond);
  return call;
}

}  // namespace kselect::search
