#include "search/knn/tiled/tiled_record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/record/records.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "search/knn/knn_record.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

constexpr double ns_per_s = 1e9, ns_per_ms = 1e6;

json times_json(const tiled_times& times) {
  json all = json::object();
  for (const tiled_stage& stage : tiled_stages) {
    all[std::string(stage.name)] = times.*stage.time * ns_per_s;
  }
  return all;
}

// Times by the GPU's own clock.
json gpu_times_json(const cuda_knn_times& times) {
  json all = json::object();
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    if (!stage.of_total && stage.time != &cuda_knn_times::prepare) continue;
    all[std::string(stage.name)] = times.*stage.time * ns_per_ms;
  }
  return all;
}

json request_json(const tiled_request& r, const tiled_report& report) {
  json base = json::array();
  for (const auto& file : r.base) base.push_back(file.filename().string());
  return {{"base", std::move(base)},
          {"n", report.n},
          {"dimension", report.dimension},
          {"self", r.query.empty()},
          {"queries", report.queries},
          {"queries_before", report.queries_before},
          {"exclude_self", r.exclude_self},
          {"metric", to_string(r.metric)},
          {"k", r.k},
          {"product", to_string(report.product)},
          {"other_product_because", report.other_because},
          {"memory_bytes", r.memory_bytes},
          {"device_memory_bytes", r.cuda.memory_bytes},
          {"tf32", r.cuda.tf32},
          {"prove", to_string(scope_of(r.cuda.prove, report.product))}};
}

// Of the rank's own products, by the GPU's own clock.
json share_of_ceiling(const tiled_report& r, double product_rate) {
  const double seconds = r.shard.gpu.total() * 1e-3;
  if (product_rate <= 0 || seconds <= 0) return {};
  const double pairs =
      static_cast<double>(r.vectors) * static_cast<double>(r.queries - r.queries_before);
  return share_of_products(pairs, r.dimension, seconds, product_rate);
}

}  // namespace

std::string rank_record(const communicator& ranks, const backend& place, const tiled_report& r,
                        double product_rate) {
  const bool cuda = !place.shares_host_memory();
  const json gpu = cuda ? gpu_json(place.number()) : json::array();
  const json record = {{"rank", ranks.rank()},
                       {"local_rank", ranks.local_rank()},
                       {"process_ranks", ranks.process_size()},
                       {"threads", place.description().threads},
                       {"vectors", r.vectors},
                       {"corpus_tile", r.plan.corpus_tile},
                       {"corpus_tiles", r.corpus_tiles},
                       {"memory_bytes", r.held_bytes + r.plan.bytes},
                       {"resident", r.shard.resident},
                       {"bytes_read", r.shard.bytes_read},
                       {"rows_proven", r.shard.rows_proven},
                       {"unproven_queries", r.shard.unproven},
                       {"survivors", r.shard.survivors},
                       {"by_float64", r.shard.by_float64},
                       {"time", times_json(r.times)},
                       {"gpu_time", cuda ? gpu_times_json(r.shard.gpu) : json()},
                       {"product_ceiling", product_ceiling_json(product_rate)},
                       {"share_of_ceiling", share_of_ceiling(r, product_rate)},
                       {"gpu", gpu.empty() ? json() : gpu.front()},
                       {"host", to_json(observe_host())}};
  return record.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string tiled_record(const tiled_run& run) {
  json ranks = json::array();
  for (const std::string& text : run.ranks) ranks.push_back(json::parse(text));
  const json record = {{"schema", schema_version},
                       {"what", "knn_in_tiles"},
                       {"started", utc_time(run.started)},
                       {"elapsed_s", run.elapsed_s},
                       {"request", request_json(run.request, run.report)},
                       {"algorithm", algorithm_json(run.request.entry)},
                       {"executor", to_string(run.executor)},
                       {"exchange", run.report.nccl ? "nccl" : "host"},
                       {"query_tile", run.report.plan.query_tile},
                       {"query_tiles", run.report.query_tiles},
                       {"unit", "ns"},
                       {"ranks", std::move(ranks)},
                       {"git", git_json()},
                       {"build", build_json()}};
  // File names may hold any byte.
  return record.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace kselect::search
