#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "harness/compare/statistics.hpp"
#include "harness/export/exports.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
namespace {

std::string name_of(const compare::recorded_cell& cell) {
  return benchmark_name(cell.problem, cell.algorithm, cell.executor) + cell.problem.settings;
}

using compare::json;
using compare::recorded_cell;
using compare::recorded_run;

constexpr double ns_per_us = 1e3;

json context_of(const recorded_run& run) {
  const auto fact = [&](std::initializer_list<const char*> path, json otherwise) {
    const json found = run.fact(path);
    return found.is_null() ? otherwise : found;
  };
  const bool release = run.fact({"build", "type"}) == "Release";
  const json arguments = fact({"arguments"}, json::array());
  return {{"date", fact({"started"}, "")},
          {"host_name", fact({"host", "name"}, "")},
          {"executable", arguments.empty() ? json("kselect") : arguments.front()},
          {"num_cpus", fact({"host", "threads_online"}, 0)},
          {"mhz_per_cpu", 0},  // required by readers, but no clock holds for a whole run
          {"cpu_scaling_enabled", fact({"host", "governor"}, "") != "performance"},
          {"caches", json::array()},
          {"load_avg", {fact({"host", "load_1min"}, 0.0)}},
          {"library_build_type", release ? "release" : "debug"},
          {"json_schema_version", 1},
          {"kselect",
           {{"run", fact({"run"}, "")},
            {"git", run.fact({"git"})},
            {"build", run.fact({"build"})},
            {"host", run.fact({"host"})},
            {"gpu", run.fact({"gpu"})},
            {"config", run.fact({"config"})}}}};
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The rows of one cell. Members have Google Benchmark's order.
class family {
 public:
  family(const recorded_cell& cell, std::size_t index)
      : cell_(cell), index_(index), name_(name_of(cell) + "/manual_time") {
    for (const auto& round : cell.time->rounds) {
      if (round) rounds_us_.push_back(*round / ns_per_us);
    }
  }

  void append_to(json& rows) const {
    if (rounds_us_.empty()) return;
    for (std::size_t i = 0; i < rounds_us_.size(); ++i) rows.push_back(repetition(i));
    const double centre = mean(rounds_us_), spread = deviation(rounds_us_);
    rows.push_back(aggregate("mean", "time", centre));
    rows.push_back(aggregate("median", "time", cell_.time->median / ns_per_us));
    rows.push_back(aggregate("stddev", "time", spread));
    rows.push_back(aggregate("cv", "percentage", centre == 0 ? 0 : spread / centre));
  }

 private:
  json common(const std::string& name, const char* run_type) const {
    return {{"name", name},      {"family_index", index_}, {"per_family_instance_index", 0},
            {"run_name", name_}, {"run_type", run_type},   {"repetitions", rounds_us_.size()}};
  }

  json repetition(std::size_t i) const {
    json row = common(name_, "iteration");
    row["repetition_index"] = i;
    row["threads"] = 1;
    row["iterations"] =
        std::max<std::size_t>(1, cell_.time->samples.size() / cell_.time->rounds.size());
    row["real_time"] = rounds_us_[i];
    row["cpu_time"] = rounds_us_[i];
    row["time_unit"] = "us";
    const double elements =
        static_cast<double>(cell_.problem.n) * static_cast<double>(cell_.problem.q);
    row["items_per_second"] = elements / rounds_us_[i] * 1e6;
    row["bytes_per_second"] =
        static_cast<double>(cell_.problem.input_bytes()) / rounds_us_[i] * 1e6;
    return row;
  }

  json aggregate(const char* what, const char* unit, double value) const {
    json row = common(fmt::format("{}_{}", name_, what), "aggregate");
    row["threads"] = 1;
    row["aggregate_name"] = what;
    row["aggregate_unit"] = unit;
    row["iterations"] = rounds_us_.size();
    row["real_time"] = value;
    row["cpu_time"] = value;
    row["time_unit"] = "us";
    return row;
  }

  const recorded_cell& cell_;
  std::size_t index_;
  std::string name_;
  std::vector<double> rounds_us_;
};

}  // namespace

std::string benchmark_name(const workload& p, std::string_view algorithm,
                           std::string_view executor) {
  return fmt::format("{}/{}/{}/{}/q:{}/n:{}/k:{}/{}/{}/{}{}/{}/seed:{}", algorithm, executor,
                     to_string(p.type), to_string(p.direction), p.q, p.n, p.k, to_string(p.payload),
                     to_string(p.index), to_string(p.layout),
                     p.pitch == 0 ? "" : fmt::format("/pitch:{}", p.pitch),
                     to_string(p.distribution), p.seed);
}

std::string gbench_export(const recorded_run& run) {
  json rows = json::array();
  std::size_t index = 0;
  for (const recorded_cell& cell : run.cells) {
    if (cell.status == cell_status::ok && cell.time) family(cell, index++).append_to(rows);
  }
  const json whole = {{"context", context_of(run)}, {"benchmarks", std::move(rows)}};
  return whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string ci_export(const recorded_run& run) {
  json rows = json::array();
  for (const recorded_cell& cell : run.cells) {
    if (cell.status != cell_status::ok || !cell.time) continue;
    const compare::recorded_time& time = *cell.time;
    rows.push_back(
        {{"name", name_of(cell)},
         {"unit", "us"},
         {"value", time.median / ns_per_us},
         {"range", fmt::format("± {:.4g}", (time.high - time.low) / 2 / ns_per_us)},
         {"extra", fmt::format("{}, {}, 95 % interval [{:.6g}, {:.6g}] us, clock {}",
                               runtime::amount_of(time.rounds.size(), "round"),
                               runtime::amount_of(time.samples.size(), "sample"),
                               time.low / ns_per_us, time.high / ns_per_us, time.clock)}});
  }
  return rows.dump(1) + "\n";
}

}  // namespace kselect::harness
