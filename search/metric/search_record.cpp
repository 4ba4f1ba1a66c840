#include "search/metric/search_record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/measure/statistics.hpp"
#include "harness/record/records.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"

namespace kselect::search::metric_space {
namespace {

using json = nlohmann::ordered_json;

json search_json(const search_run& run) {
  json search = {{"what", run.k ? "knn" : "range"}, {"queries", run.queries.count()}};
  if (run.k) search["k"] = *run.k;
  if (run.radius) search["radius"] = *run.radius;
  if (run.share) search["share"] = *run.share;
  if (run.plan) {
    search["first_radius"] = run.plan->first;
    search["radius_step"] = run.plan->step;
    search["training_ns"] = run.training_seconds * 1e9;
  }
  const bool kernels = run.place.description().kind != executor_kind::cpu;
  if (kernels) {
    if (run.k) search["radius_rule"] = to_string(run.options.radius);
    if (run.indexed.index.kind == index_kind::sss) {
      search["distribution"] = to_string(run.options.distribution);
    }
    search["block_threads"] = run.options.block_threads;
    search["batch"] = run.options.batch;
  }
  return search;
}

json summary_json(const std::vector<double>& samples) {
  const summary s = summarise(samples);
  return {{"median", s.median}, {"q1", s.q1},   {"q3", s.q3},
          {"min", s.min},       {"max", s.max}, {"ci95", {s.ci_low, s.ci_high}},
          {"samples", samples}};
}

json time_json(const search_run& run, bool measures) {
  if (!measures) return nullptr;
  std::vector<double> whole, kernels;
  for (const search_report& repeat : run.repeats) {
    whole.push_back(repeat.seconds * 1e9);
    kernels.push_back(repeat.kernel_seconds * 1e9);
  }
  json time = {{"unit", "ns"}, {"warmups", run.warmups}};
  time.update(summary_json(whole));
  time["queries_per_second"] =
      static_cast<double>(run.queries.count()) * 1e9 / summarise(whole).median;
  if (run.place.description().kind == executor_kind::cuda) time["kernels"] = summary_json(kernels);
  return time;
}

json work_json(const search_run& run) {
  const search_report& report = run.repeats.front();
  if (!report.done) return nullptr;
  const auto mean = [&](std::int64_t total) {
    return static_cast<double>(total) / static_cast<double>(run.queries.count());
  };
  json per_query = {{"distances", mean(report.done->distances)},
                    {"clusters", mean(report.done->clusters)},
                    {"pruned", mean(report.done->pruned)}};
  if (report.counters) {
    for (const simt::counter c :
         {simt::counter::global_reads, simt::counter::global_writes, simt::counter::bytes_read,
          simt::counter::bytes_written, simt::counter::queue_inserts}) {
      per_query[std::string(to_string(c))] = mean((*report.counters)[c]);
    }
  }
  return {{"queries", run.queries.count()}, {"per_query", per_query}};
}

}  // namespace

json index_json(const indexed_objects& x) {
  json index = {
      {"kind", to_string(x.index.kind)},    {"metric", x.in->metric_name()},
      {"objects", x.objects->count()},      {"source", x.source},
      {"source_hash", x.in->source_hash()}, {"hash", fmt::format("{:016x}", x.objects->hash())}};
  if (x.index.kind == index_kind::list_of_clusters) {
    const cluster_list& list = x.index.clusters;
    if (list.has_fixed_size()) {
      index["cluster_size"] = list.cluster_size;
    } else {
      index["cluster_radius"] = list.covering_radius;
    }
    index["clusters"] = list.clusters();
  }
  if (x.index.kind == index_kind::sss) {
    index["alpha"] = x.index.pivots.alpha;
    index["pivots"] = x.index.pivots.count();
    if (x.index.pivots.most != 0) index["most_pivots"] = x.index.pivots.most;
    index["diameter"] = x.index.pivots.diameter;
  }
  return index;
}

std::string search_record(const search_run& run) {
  const device& where = run.place.description();
  const search_report& first = run.repeats.front();
  const json record = {
      {"schema", schema_version},
      {"what", "index_search"},
      {"started", utc_time(run.started)},
      {"index", index_json(run.indexed)},
      {"search", search_json(run)},
      {"executor", to_string(where.kind)},
      {"threads", where.threads},
      {"launches", first.launches},
      {"batches", first.batches},
      {"pending", first.pending},
      {"hits", run.hits},
      // Fibers prove kernels; their times mean nothing.
      {"time", time_json(run, where.kind != executor_kind::fiber)},
      {"work", work_json(run)},
      {"verify", {{"method", "all distances"}, {"queries", run.queries_proven}}},
      {"git", git_json()},
      {"build", build_json()},
      {"host", to_json(run.host)},
      {"gpu", where.kind == executor_kind::cuda ? gpu_json() : json::array()},
  };
  return record.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace kselect::search::metric_space
