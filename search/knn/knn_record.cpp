#include "search/knn/knn_record.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/measure/statistics.hpp"
#include "harness/record/ceilings.hpp"
#include "harness/record/records.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "search/knn/cuda/product_rate.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

constexpr double ns_per_ms = 1e6;

template <class Value>
std::vector<double> each(std::span<const cuda_knn_times> repeats, Value value, double unit = 1) {
  std::vector<double> values;
  for (const cuda_knn_times& repeat : repeats) values.push_back(value(repeat) * unit);
  return values;
}

auto of_stage(const cuda_knn_stage& stage) {
  return [&stage](const cuda_knn_times& t) { return t.*stage.time; };
}

json vectors_json(const vector_set& set) {
  return {{"source", std::filesystem::path(set.source).filename().string()},
          {"hash", fmt::format("{:016x}", set.hash)},
          {"count", set.count},
          {"dimension", set.dimension}};
}

json request_json(const knn_request& r) {
  return {{"base", vectors_json(r.base)},
          {"query", r.query == nullptr ? json() : vectors_json(*r.query)},
          {"queries", r.queries().count},
          {"exclude_self", r.exclude_self},
          {"filter", r.filter.words == nullptr ? "none"
                     : r.filter.each()         ? "each"
                                               : "one"},
          {"metric", to_string(r.metric)},
          {"k", r.k}};
}

json options_json(const cuda_knn_options& o, knn_product product) {
  return {{"memory_bytes", o.memory_bytes},
          {"tf32", o.tf32},
          {"half_product", o.half_product},
          {"sum_by_warp", o.sum_by_warp},
          {"prove", to_string(scope_of(o.prove, product))},
          {"repeats", o.repeats}};
}

json product_json(const knn_run& run) {
  const cuda_knn_report& report = run.report;
  json share;
  if (run.product_rate > 0 && !report.times.empty()) {
    const double pairs = static_cast<double>(run.request.base.count) *
                         static_cast<double>(run.request.queries().count);
    share = share_of_products(pairs, run.request.base.dimension,
                              medians_of(report.times).total * 1e-3, run.product_rate);
  }
  return {{"type", to_string(report.product)}, {"other_because", report.other_because},
          {"survivors", report.survivors},     {"done_again", report.unproven},
          {"by_float64", report.by_float64},   {"ceiling", product_ceiling_json(run.product_rate)},
          {"share_of_ceiling", share}};
}

json tiles_json(const cuda_knn_report& report) {
  return {{"queries", report.query_tiles},
          {"corpus", report.corpus_tiles},
          {"streamed", report.streamed},
          {"half_product", report.half_product},
          {"whole_product_because", report.whole_product_because}};
}

json time_json(std::span<const cuda_knn_times> repeats) {
  const median_times medians = medians_of(repeats);
  json median = json::object();
  json samples = json::object();
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    const std::string name(stage.name);
    median[name] = medians.stages.*stage.time * ns_per_ms;
    samples[name] = each(repeats, of_stage(stage), ns_per_ms);
  }
  median["total"] = medians.total * ns_per_ms;
  samples["total"] = each(
      repeats, [](const cuda_knn_times& t) { return t.total(); }, ns_per_ms);
  return {{"clock", "cuda_event"},
          {"unit", "ns"},
          {"left_out", medians.left_out},
          {"median", std::move(median)},
          {"samples", std::move(samples)}};
}

}  // namespace

double share_of_products(double multiplied, std::int64_t dimension, double seconds,
                         double product_rate) {
  if (seconds <= 0 || product_rate <= 0) return 0;
  return 2 * multiplied * static_cast<double>(dimension) / seconds / product_rate;
}

json product_ceiling_json(double product_rate) {
  if (product_rate <= 0) return {};
  return {{"flop_per_s", product_rate},
          {"how", fmt::format("cuBLAS, {0} x {0} x {0}, float16 with sums in float32",
                              product_rate_size)}};
}

median_times medians_of(std::span<const cuda_knn_times> repeats) {
  median_times found;
  found.left_out = repeats.size() > 1 ? 1 : 0;
  const auto counted = repeats.subspan(found.left_out);
  found.repeats = counted.size();
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    found.stages.*stage.time = summarise(each(counted, of_stage(stage))).median;
  }
  found.total = summarise(each(counted, [](const cuda_knn_times& t) { return t.total(); })).median;
  return found;
}

std::string knn_record(const knn_run& run) {
  const json record = {
      {"schema", schema_version},
      {"what", "knn"},
      {"started", utc_time(run.started)},
      {"elapsed_s", run.elapsed_s},
      {"request", request_json(run.request)},
      {"algorithm", algorithm_json(run.entry)},
      {"executor", to_string(executor_kind::cuda)},
      {"threads", run.threads},
      {"options", options_json(run.request.cuda, run.report.product)},
      {"tiles", tiles_json(run.report)},
      {"product", product_json(run)},
      {"verify",
       {{"method", "certificate"},
        {"rows", run.report.rows_proven},
        {"unproven_queries", run.report.unproven},
        {"done_again", !run.request.cuda.tf32}}},
      {"time", run.report.times.empty() ? json() : time_json(run.report.times)},
      {"ceilings", run.ceilings.read > 0 ? to_json(run.ceilings) : json()},
      {"git", git_json()},
      {"build", build_json()},
      {"host", to_json(observe_host())},
      {"gpu", gpu_json()},
  };
  // File names may hold any byte.
  return record.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace kselect::search
