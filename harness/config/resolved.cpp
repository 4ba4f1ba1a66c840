// The inverse of parse.cpp: a config as JSON, with ranges expanded and every default written out. A
// record keeps this form, so that later changes of a default do not change what an old record says.
// It is itself a config, so a sweep can be run again from its record.

#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"

namespace kselect::harness {
namespace {

using json = nlohmann::ordered_json;

json to_json(std::int64_t value) { return value; }
json to_json(const extent& value) { return value ? json(*value) : json("all"); }
json to_json(const distribution& value) { return to_string(value); }
json to_json(const row_lengths& value) {
  if (value.kind == length_kind::file) return {{"file", value.from->written}};
  return to_string(value);
}
json to_json(const drawn_mask& value) { return to_string(value); }
template <named_enum Enum>
json to_json(Enum value) {
  return to_string(value);
}

template <class T>
json list_of(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

json shapes_json(const std::vector<sweep_axes::shape>& shapes) {
  json list = json::array();
  for (const auto& [n, q, k] : shapes) list.push_back({n, q, k});
  return list;
}

json axes_json(const sweep_config& config) {
  const sweep_axes& axes = config.axes;
  const rows_origin from = origin_of(config.input);
  json out = json::object();
  if (!axes.n.empty()) out["n"] = list_of(axes.n);
  if (!axes.q.empty()) out["q"] = list_of(axes.q);
  if (axes.n_times_q) out["n_times_q"] = *axes.n_times_q;
  if (!axes.k.empty()) out["k"] = list_of(axes.k);
  if (!axes.shapes.empty()) out["shapes"] = shapes_json(axes.shapes);
  if (config.task == nullptr) {
    out["dtype"] = list_of(axes.types);
    out["payload"] = list_of(axes.payloads);
    out["direction"] = list_of(axes.directions);
    out["layout"] = list_of(axes.layouts);
    out["index"] = list_of(axes.indices);
    // Records of equal rows, without masks, and of the total order are older than these axes.
    if (axes.row_lengths != sweep_axes{}.row_lengths) out["lengths"] = list_of(axes.row_lengths);
    if (axes.masks != sweep_axes{}.masks) out["masks"] = list_of(axes.masks);
    if (axes.nans != sweep_axes{}.nans) out["nan"] = list_of(axes.nans);
  }
  for (const axis_values& own : axes.own) {
    json& values = out[std::string(own.axis)] = json::array();
    for (const setting_value& value : own.values) values.push_back(harness::to_json(value));
  }
  if (from == rows_origin::generator) out["distribution"] = list_of(axes.distributions);
  return out;
}

template <class T>
void set(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = to_json(*value);
}

json exclude_json(const std::vector<exclusion>& excludes) {
  json list = json::array();
  for (const exclusion& each : excludes) {
    json out = json::object();
    set(out, "n", each.n);
    set(out, "q", each.q);
    set(out, "k", each.k);
    set(out, "dtype", each.type);
    set(out, "payload", each.payload);
    set(out, "direction", each.direction);
    set(out, "layout", each.layout);
    set(out, "index", each.index);
    set(out, "distribution", each.distribution);
    list.push_back(std::move(out));
  }
  return list;
}

json constraints_json(const std::vector<expression>& constraints) {
  json list = json::array();
  for (const expression& each : constraints) list.push_back(each.text());
  return list;
}

json algorithms_json(const std::vector<algorithm_filter>& filters) {
  json list = json::array();
  for (const algorithm_filter& each : filters) {
    const std::string name = each.glob + (each.here ? "@here" : "");
    if (each.where) {
      list.push_back({{"name", name}, {"where", each.where->text()}});
    } else {
      list.push_back(name);
    }
  }
  return list;
}

json generator_json(const generated_input& input) {
  json out = json::object();
  if (input.vectors) {
    out["vectors"] = {{"dimension", input.vectors->dimension},
                      {"metric", to_string(input.vectors->metric)}};
  }
  return out;
}

json input_json(const sweep_config& config) {
  const input_spec& input = config.input;
  if (const auto* const generated = std::get_if<generated_input>(&input)) {
    return {{"generator", generator_json(*generated)}};
  }
  if (const auto* const rows = std::get_if<rows_input>(&input)) {
    return {{"rows", {{"file", rows->file}}}};
  }
  const auto* const dataset = std::get_if<dataset_input>(&input);
  json out = {{"base", dataset->base}};
  if (dataset->query) out["query"] = *dataset->query;
  if (config.task == nullptr) {
    out["metric"] = to_string(dataset->metric);
    out["self"] = dataset->self;
    out["exclude_self"] = dataset->exclude_self;
  }
  if (dataset->limit) out["limit"] = *dataset->limit;
  return {{"dataset", std::move(out)}};
}

json measure_json(const measure_policy& policy) {
  return {{"warmup", policy.warmup},           {"rounds", policy.rounds},
          {"min_samples", policy.min_samples}, {"max_samples", policy.max_samples},
          {"max_seconds", policy.max_seconds}, {"target_spread", policy.target_spread},
          {"threads", policy.threads},         {"cpu_cache", to_string(policy.cache)},
          {"timeout_s", policy.timeout_s},     {"multiprocessors", policy.multiprocessors}};
}

// Of the config, or of one of its parts.
void add_task(json& out, const sweep_config& config) {
  out["axes"] = axes_json(config);
  // Empty lists are left out: the parser refuses them, and absence means the same.
  if (!config.constraints.empty()) out["constraints"] = constraints_json(config.constraints);
  if (!config.excludes.empty()) out["exclude"] = exclude_json(config.excludes);
  out["algorithms"] = algorithms_json(config.algorithms);
  out["input"] = input_json(config);
}

json executors_json(const sweep_config& config) {
  return config.executors.empty() ? json("auto") : list_of(config.executors);
}

json part_json(const sweep_config& part) {
  json out = {{"task", part.task == nullptr ? selection_name : part.task->name()}};
  add_task(out, part);
  out["executor"] = executors_json(part);
  return out;
}

}  // namespace

nlohmann::ordered_json resolved_json(const sweep_config& config) {
  json out = json::object();
  out["schema"] = "kselect-config/1";
  out["name"] = config.name;
  out["description"] = config.description;
  // Configs of selection, which are older than tasks, are recorded without it.
  if (config.task != nullptr) out["task"] = config.task->name();
  out["seed"] = config.seed;
  if (config.parts.empty()) add_task(out, config);
  for (const sweep_config& part : config.parts) out["parts"].push_back(part_json(part));
  out["measure"] = measure_json(config.measure);
  if (config.parts.empty()) out["executor"] = executors_json(config);
  if (!config.plugins.empty()) out["plugins"] = config.plugins;
  return out;
}

}  // namespace kselect::harness
