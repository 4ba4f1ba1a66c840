#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "search/knn/median_times.hpp"
#include "search/task/call_task.hpp"
#include "search/task/knn_calls.hpp"
#include "search/task/settings.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

// What a rank waits for, one after the other, when it does not compute; the rest of its time is the
// host's.
constexpr std::array<std::string_view, 5> waits = {"queries_wait", "read_wait", "lists_wait",
                                                   "ranks_wait", "write_wait"};
// Before the search, in the background, or of several stages.
constexpr std::array<std::string_view, 9> beside = {
    "setup", "load", "nearest", "queries", "read", "download", "exchange", "merge", "write"};

json times_json(const tiled_times& times) {
  json all = json::object();
  for (const tiled_stage& stage : tiled_stages) {
    all[std::string(stage.name)] = times.*stage.time * ns_per_second;
  }
  return all;
}

// By the GPU's own clock.
json gpu_times_json(const cuda_knn_times& times) {
  json all = json::object();
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    if (!stage.of_total && stage.time != &cuda_knn_times::prepare) continue;
    all[std::string(stage.name)] = times.*stage.time * ns_per_millisecond;
  }
  return all;
}

// Of the rank's own products, by the GPU's own clock; null if nothing was measured.
json share_of_rate(const tiled_report& r, double product_rate) {
  const double seconds = r.shard.gpu.total() * 1e-3;
  if (product_rate <= 0 || seconds <= 0) return {};
  const double pairs =
      static_cast<double>(r.vectors) * static_cast<double>(r.queries - r.queries_before);
  return share_of_products(pairs, r.dimension, seconds, product_rate);
}

// Nanoseconds of one rank's search, as a stage of the cell.
double of_rank(const json& rank, std::string_view stage) {
  const json& time = rank.at("time");
  const bool resident = rank.at("resident");
  if (stage == "compute") {
    if (rank.at("gpu_time").is_null()) {
      return time.at("nearest").get<double>() - time.at("read_wait").get<double>();
    }
    double sum = 0;
    for (const auto& [name, part] : rank["gpu_time"].items()) {
      // A part of the corpus that stays on the GPU is prepared before the search.
      if (!(resident && name == "prepare")) sum += part.get<double>();
    }
    return sum;
  }
  if (stage == "read_wait" && resident) return 0;  // before the search
  if (stage.starts_with("gpu_")) return rank.at("gpu_time").at(stage.substr(4));
  return time.at(stage);
}

class rank_stages {
 public:
  explicit rank_stages(const json& ranks) : ranks_(ranks) {}

  void mean(std::string_view stage, bool of_time) {
    double sum = 0;
    for (const json& rank : ranks_) sum += of_rank(rank, stage);
    add(std::string(stage), of_time, sum / static_cast<double>(ranks_.size()));
  }
  void slowest(std::string_view stage) {
    double most = 0;
    for (const json& rank : ranks_) most = std::max(most, of_rank(rank, stage));
    add(fmt::format("{}_slowest", stage), false, most);
  }
  std::vector<stage_log> all;

 private:
  void add(std::string name, bool of_time, double ns) {
    all.push_back({std::move(name), of_time, {std::max(ns, 0.0)}});
  }
  const json& ranks_;
};

std::vector<stage_log> stages_of(const json& ranks) {
  rank_stages found(ranks);
  found.mean("compute", true);
  for (const std::string_view stage : waits) found.mean(stage, true);
  for (const std::string_view stage : beside) found.mean(stage, false);
  if (const json& gpu = ranks.front().at("gpu_time"); !gpu.is_null()) {
    for (const auto& [name, part] : gpu.items()) found.mean("gpu_" + name, false);
  }
  found.slowest("read");
  found.slowest("compute");
  return found.all;
}

std::vector<std::pair<std::string, double>> counts_of(const json& ranks, const tiled_report& r) {
  const auto sum = [&](const char* member) {
    double all = 0;
    for (const json& rank : ranks) all += rank.at(member).get<double>();
    return all;
  };
  const auto resident = std::ranges::count_if(
      ranks, [](const json& rank) { return rank.at("resident").get<bool>(); });
  return {{"survivors", sum("survivors")},
          {"done_again", sum("unproven_queries")},
          {"by_float64", sum("by_float64")},
          {"rows_proven", sum("rows_proven")},
          {"query_tiles", static_cast<double>(r.query_tiles)},
          {"query_tile", static_cast<double>(r.plan.query_tile)},
          {"list_length", static_cast<double>(r.list_length)},
          {"corpus_tiles", sum("corpus_tiles")},
          {"bytes_read", sum("bytes_read")},
          {"resident_ranks", static_cast<double>(resident)}};
}

std::string names_of_files(const std::vector<std::filesystem::path>& files) {
  std::string all;
  for (const auto& file : files) all += (all.empty() ? "" : ", ") + file.filename().string();
  return all;
}

cell cell_of(const tiled_run& run, std::int64_t ranks) {
  const tiled_request& r = run.request;
  const tiled_report& report = run.report;
  cell c = knn_call_cell(r.entry, run.place.kind);
  c.problem.n = report.n;
  c.problem.q = report.queries;
  c.problem.k = r.k;
  c.of_problem = {{"dimension", report.dimension},
                  {"metric", std::string(to_string(r.metric))},
                  {"queries", queries_text(r.query.empty(), r.exclude_self)}};
  c.of_entry = {{"product", std::string(to_string(report.product))}};
  const bool older = run.place.kind == executor_kind::cuda && !is_filtered(report.product);
  if (report.by_pairs) c.of_entry.push_back({"half_product", std::string("yes")});
  if (older) c.of_entry.push_back({"prove", std::string(to_string(r.cuda.prove))});
  c.of_entry.push_back({"ranks", ranks});
  c.of_entry.push_back({"exchange", std::string(report.nccl ? "nccl" : "host")});
  c.of_entry.push_back({"memory_limit", r.memory_bytes >> 20});
  if (r.cuda.memory_bytes != 0) c.of_entry.push_back({"device_memory", r.cuda.memory_bytes >> 20});
  return c;
}

}  // namespace

std::string rank_facts(const communicator& ranks, const backend& place, const tiled_report& r,
                       double product_rate) {
  const bool cuda = !place.shares_host_memory();
  const json gpu = cuda ? gpu_json(place.number()) : json::array();
  const json facts = {{"rank", ranks.rank()},
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
                      {"product_flop_per_s", product_rate > 0 ? json(product_rate) : json()},
                      {"share_of_products", share_of_rate(r, product_rate)},
                      {"gpu", gpu.empty() ? json() : gpu.front()},
                      {"host", to_json(observe_host())}};
  return facts.dump(-1, ' ', false, json::error_handler_t::replace);
}

measured_call call_of(const tiled_run& run) {
  json ranks = json::array();
  for (const std::string& text : run.ranks) ranks.push_back(json::parse(text));
  const tiled_report& r = run.report;
  const bool older = run.place.kind == executor_kind::cuda && !is_filtered(r.product);
  return {.what = cell_of(run, std::ssize(run.ranks)),
          .input = {{"kind", "dataset"},
                    {"name", names_of_files(run.request.base)},
                    {"hash", r.base_fingerprint},
                    {"query_hash", r.query_fingerprint},
                    {"dimension", r.dimension}},
          .threads = run.place.threads,
          .device = run.place.name,
          .clock = "steady",
          .rounds_ns = {r.times.search * ns_per_second},
          .stages = stages_of(ranks),
          .counts = counts_of(ranks, r),
          .proof = proof_text(r.product, run.request.cuda.prove),
          .proven = !older || run.request.cuda.prove != proof_scope::none,
          .ranks = std::move(ranks),
          .started = run.started,
          .elapsed_s = run.elapsed_s};
}

}  // namespace kselect::search
