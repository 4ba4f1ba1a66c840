#include "harness/run/messages.hpp"

#include <nlohmann/json.hpp>

#include "harness/record/ceilings.hpp"

namespace kselect::harness {

using json = nlohmann::json;

// Conversion between these structs and JSON, one key per member. Enums are written as numbers: both
// ends of the socket are the same program.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(measure_policy, warmup, rounds, min_samples, max_samples,
                                   max_seconds, target_spread, threads, cache, timeout_s,
                                   multiprocessors)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(generated_vectors, dimension, metric)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(distribution, kind, parameter)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(workload, n, q, k, type, index, direction, payload, layout,
                                   pitch, distribution, seed)

namespace {

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

template <class T>
void read(const json& from, std::optional<T>& value) {
  if (!from.is_null()) value = from.get<T>();
}

// A path is bytes, which JSON cannot hold as they are: each becomes the character of its number.
std::string bytes_as_characters(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xc0 | byte >> 6);
    text += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
  }
  return text;
}

std::string bytes_of_characters(std::string_view text) {
  std::string path;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      path += text[at];
    } else {
      path += static_cast<char>(byte << 6 | (static_cast<unsigned char>(text[++at]) & 0x3f));
    }
  }
  return path;
}

json spec_json(const input_spec& spec) {
  if (const auto* const generated = std::get_if<generated_input>(&spec)) {
    return {{"vectors", or_null(generated->vectors)}};
  }
  if (const auto* const rows = std::get_if<rows_input>(&spec)) {
    return {{"rows", bytes_as_characters(rows->file)}};
  }
  const auto& d = std::get<dataset_input>(spec);
  const json query = d.query ? json(bytes_as_characters(*d.query)) : json();
  return {{"base", bytes_as_characters(d.base)},
          {"query", query},
          {"metric", d.metric},
          {"self", d.self},
          {"exclude_self", d.exclude_self},
          {"limit", or_null(d.limit)}};
}

input_spec spec_from(const json& from) {
  if (from.contains("vectors")) {
    generated_input generated;
    read(from.at("vectors"), generated.vectors);
    return generated;
  }
  if (from.contains("rows")) {
    return rows_input{bytes_of_characters(from.at("rows").get<std::string>())};
  }
  dataset_input d;
  d.base = bytes_of_characters(from.at("base").get<std::string>());
  read(from.at("query"), d.query);
  if (d.query) d.query = bytes_of_characters(*d.query);
  d.metric = from.at("metric");
  d.self = from.at("self");
  d.exclude_self = from.at("exclude_self");
  read(from.at("limit"), d.limit);
  return d;
}

}  // namespace

std::string setup_line(const worker_setup& setup) {
  json ceilings = json::object();
  for (const auto& [kind, value] : setup.ceilings) {
    ceilings[std::string(to_string(kind))] = json(to_json(value));
  }
  return json{{"input", spec_json(setup.input.spec)}, {"on_gpu", setup.input.on_gpu},
              {"threads", setup.input.threads},       {"policy", setup.policy},
              {"description", setup.description},     {"ceilings", std::move(ceilings)}}
      .dump();
}

worker_setup setup_from(const std::string& line) {
  const json setup = json::parse(line);
  known_ceilings ceilings;
  for (const auto& [name, value] : setup.at("ceilings").items()) {
    ceilings[parse<executor_kind>(name).value()] = ceilings_from(nlohmann::ordered_json(value));
  }
  return {{spec_from(setup.at("input")), setup.at("on_gpu"), setup.at("threads")},
          setup.at("policy"),
          std::move(ceilings),
          setup.at("description")};
}

std::string group_line(std::span<const cell* const> cells) {
  json group = json::array();
  for (const cell* c : cells) {
    group.push_back({{"key", c->key},
                     {"algorithm", c->entry->algorithm->name},
                     {"executor", c->executor},
                     {"problem", c->problem}});
  }
  return json{{"group", std::move(group)}}.dump();
}

std::vector<cell> group_from(const std::string& line) {
  const json message = json::parse(line);
  std::vector<cell> cells;
  for (const json& each : message.at("group")) {
    cell c;
    c.key = each.at("key");
    c.entry = find_algorithm(each.at("algorithm").get<std::string>());
    c.executor = each.at("executor");
    c.problem = each.at("problem");
    cells.push_back(std::move(c));
  }
  return cells;
}

}  // namespace kselect::harness
