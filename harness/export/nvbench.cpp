// nvbench's JSON, file version 1.0.0 (NVIDIA/nvbench, nvbench/json_printer.cu): a benchmark for
// each entry, a state for each of its cells, summaries by their tags.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "harness/export/exports.hpp"

namespace kselect::harness {
namespace {

using compare::json;
using compare::recorded_cell;
using compare::recorded_run;

constexpr double ns_per_s = 1e9;

// Numbers are strings there: not every reader has 64-bit integers.
json named_value(const char* name, std::int64_t value) {
  return {{"name", name}, {"type", "int64"}, {"value", fmt::to_string(value)}};
}
json named_value(const char* name, double value) {
  return {{"name", name}, {"type", "float64"}, {"value", fmt::to_string(value)}};
}
json named_value(const char* name, std::string_view value) {
  return {{"name", name}, {"type", "string"}, {"value", value}};
}

json axis_values_of(const recorded_cell& cell) {
  const recorded_problem& p = cell.problem;
  json values = {named_value("n", p.n),
                 named_value("Q", p.q),
                 named_value("k", p.k),
                 named_value("dtype", to_string(p.type)),
                 named_value("direction", to_string(p.direction)),
                 named_value("payload", to_string(p.payload)),
                 named_value("index", to_string(p.index)),
                 named_value("layout", to_string(p.layout)),
                 named_value("distribution", to_string(p.distribution)),
                 named_value("seed", fmt::to_string(p.seed)),
                 named_value("executor", cell.executor)};
  if (p.pitch != 0) values.push_back(named_value("pitch", p.pitch));
  if (!p.settings.empty()) values.push_back(named_value("settings", p.settings));
  return values;
}

// "Device=0 n=1024 Q=8": what readers match states by.
std::string state_name(const recorded_cell& cell, const json& values) {
  std::string name = cell.executor == "cuda" ? "Device=0" : "";
  for (const json& each : values) {
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", each["name"].get<std::string>(),
                        each["value"].get<std::string>());
  }
  return name;
}

struct moments {
  double mean = 0, deviation = 0;
};

moments moments_of(std::span<const double> samples) {
  moments m;
  for (const double each : samples) m.mean += each / static_cast<double>(samples.size());
  double squares = 0;
  for (const double each : samples) squares += (each - m.mean) * (each - m.mean);
  if (samples.size() > 1)
    m.deviation = std::sqrt(squares / static_cast<double>(samples.size() - 1));
  return m;
}

class summary_list {
 public:
  void add(std::string tag, const char* name, const char* hint, const json& value) {
    all_.push_back({{"tag", std::move(tag)}, {"name", name}, {"hint", hint}, {"data", {value}}});
  }
  json all_ = json::array();
};

// On a GPU the time is cold and by events, which is nvbench's "cold" measurement; on the host it is
// its measurement without a GPU.
json summaries_of(const recorded_cell& cell) {
  const bool gpu = cell.executor == "cuda";
  const std::string at = gpu ? "nv/cold/" : "nv/cpu_only/";
  const std::string time = at + (gpu ? "time/gpu/" : "time/cpu/");
  const char* const what = gpu ? "GPU Time" : "CPU Time";
  const compare::recorded_time& t = *cell.time;
  const moments m = moments_of(t.samples);
  const auto [least, most] = std::ranges::minmax(t.samples);
  summary_list told;
  told.add(at + "sample_size", "Samples", "sample_size",
           named_value("value", static_cast<std::int64_t>(t.samples.size())));
  told.add(time + "min", what, "duration", named_value("value", least / ns_per_s));
  told.add(time + "max", what, "duration", named_value("value", most / ns_per_s));
  told.add(time + "mean", what, "duration", named_value("value", m.mean / ns_per_s));
  told.add(time + "stdev/absolute", "Noise", "duration",
           named_value("value", m.deviation / ns_per_s));
  told.add(time + "stdev/relative", "Noise", "percentage",
           named_value("value", m.deviation / m.mean));
  told.add(time + "median", what, "duration", named_value("value", t.median / ns_per_s));
  const auto bytes = static_cast<double>(cell.problem.input_bytes());
  const char* const rate = "bw/global/bytes_per_second";
  if (gpu)
    told.add(at + rate, "GlobalMem BW", "byte_rate", named_value("value", bytes / m.mean * 1e9));
  return told.all_;
}

json state_of(const recorded_cell& cell) {
  json values = axis_values_of(cell);
  json state = {{"name", state_name(cell, values)},
                {"device", cell.executor == "cuda" ? json(0) : json()},
                {"type_config_index", 0},
                {"axis_values", std::move(values)},
                {"summaries", json::array()}};
  const bool timed = cell.status == cell_status::ok && cell.time && !cell.time->samples.empty();
  if (timed) state["summaries"] = summaries_of(cell);
  state["is_skipped"] = !timed;
  if (!timed) {
    const std::string why = cell.reason.empty() ? "not timed" : cell.reason;
    state["skip_reason"] = fmt::format("{}: {}", to_string(cell.status), why);
  }
  return state;
}

// The axes of a benchmark: the values that its states have, each once.
json axes_of(const json& states) {
  json axes = json::array();
  std::map<std::string, std::size_t> places;
  for (const json& state : states) {
    for (const json& value : state["axis_values"]) {
      const auto name = value["name"].get<std::string>();
      const auto [place, is_new] = places.try_emplace(name, axes.size());
      if (is_new) {
        axes.push_back(
            {{"name", name}, {"type", value["type"]}, {"flags", ""}, {"values", json::array()}});
      }
      const auto text = value["value"].get<std::string>();
      json& known = axes[place->second]["values"];
      const auto same = [&](const json& each) { return each["input_string"] == text; };
      if (std::ranges::any_of(known, same)) continue;
      const json own = value["type"] == "int64" ? json(std::stoll(text)) : json(text);
      known.push_back({{"input_string", text}, {"description", ""}, {"value", own}});
    }
  }
  return axes;
}

// What is known of the GPUs, under nvbench's names. Nothing is made up for the rest.
json devices_of(const recorded_run& run) {
  constexpr std::array<std::pair<const char*, const char*>, 5> members = {
      {{"index", "id"},
       {"name", "name"},
       {"multiprocessors", "number_of_sms"},
       {"memory_bytes", "global_memory_size"},
       {"l2_bytes", "l2_cache_size"}}};
  json devices = json::array();
  for (const json& gpu : run.fact({"gpu"})) {
    json device = json::object();
    for (const auto& [ours, theirs] : members) {
      if (gpu.contains(ours)) device[theirs] = gpu[ours];
    }
    const auto capability = gpu.value("compute_capability", json());
    if (capability.is_number_integer() && capability > 0 && capability < 10'000) {
      device["sm_version"] = capability.get<int>() * 10;  // 90 for 9.0 here, 900 there
    }
    if (gpu.contains("ecc")) device["ecc_state"] = gpu["ecc"];
    devices.push_back(std::move(device));
  }
  return devices;
}

json meta_of(const recorded_run& run) {
  const json arguments = run.fact({"arguments"});
  return {{"argv", arguments.is_array() ? arguments : json::array()},
          {"version",
           {{"json", {{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", "1.0.0"}}},
            {"kselect", run.fact({"git"})}}}};
}

}  // namespace

std::string nvbench_export(const recorded_run& run) {
  json benchmarks = json::array();
  std::map<std::string, std::size_t> places;
  for (const recorded_cell& cell : run.cells) {
    const auto [place, is_new] = places.try_emplace(cell.algorithm, benchmarks.size());
    if (is_new) {
      benchmarks.push_back({{"name", cell.algorithm},
                            {"index", benchmarks.size()},
                            {"devices", json::array()},
                            {"axes", json::array()},
                            {"states", json::array()}});
    }
    json& benchmark = benchmarks[place->second];
    if (cell.executor == "cuda") benchmark["devices"] = {0};
    benchmark["states"].push_back(state_of(cell));
  }
  for (json& benchmark : benchmarks) benchmark["axes"] = axes_of(benchmark["states"]);
  const json whole = {
      {"meta", meta_of(run)}, {"devices", devices_of(run)}, {"benchmarks", std::move(benchmarks)}};
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace kselect::harness
