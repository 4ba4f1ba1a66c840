#include "harness/run/messages.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/record/ceilings.hpp"
#include "harness/record/journal.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"

namespace kselect::harness {

using json = nlohmann::json;

// Conversion between these structs and JSON, one key per member. Enums are written as numbers: both
// ends of the socket are the same program.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(measure_policy, warmup, rounds, min_samples, max_samples,
                                   max_seconds, target_spread, threads, cache, timeout_s,
                                   multiprocessors)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(generated_vectors, dimension, metric)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(distribution, kind, parameter)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(drawn_mask, kind, share)

namespace {

std::string bytes_as_characters(std::string_view path);
std::string bytes_of_characters(std::string_view text);

}  // namespace

// A file goes by its path and its hash: the worker reads it again
// (harness/config/lengths_file.hpp).
void to_json(json& to, const row_lengths& l) {
  to = {{"kind", l.kind}, {"parameter", l.parameter}};
  if (l.kind != length_kind::file) return;
  to["written"] = bytes_as_characters(l.from->written);
  to["path"] = bytes_as_characters(l.from->path);
  to["hash"] = l.from->hash;
}
void from_json(const json& from, row_lengths& l) {
  l.kind = from.at("kind");
  l.parameter = from.at("parameter");
  if (l.kind != length_kind::file) return;
  l.from = std::make_shared<const length_file>(
      length_file{bytes_of_characters(from.at("written").get<std::string>()),
                  bytes_of_characters(from.at("path").get<std::string>()),
                  from.at("hash"),
                  {}});
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(workload, n, q, k, type, index, direction, payload, layout,
                                   lengths, mask, mask_pitch, nan, pitch, distribution, seed,
                                   row_lengths, drawn_mask)

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

json value_json(const setting_value& value) { return json(to_json(value)); }

// A task's own axes with their values, or a cell's settings with one each.
json own_json(const std::vector<axis_values>& own) {
  json axes = json::array();
  for (const axis_values& each : own) {
    json values = json::array();
    for (const setting_value& value : each.values) values.push_back(value_json(value));
    axes.push_back({{"axis", each.axis}, {"values", std::move(values)}});
  }
  return axes;
}

json settings_json(const settings& all) {
  json list = json::array();
  for (const setting& s : all) list.push_back({{"axis", s.axis}, {"value", value_json(s.value)}});
  return list;
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

[[noreturn]] void refuse(const std::string& why) { throw error(failure::input, why); }

// Calls read(tree) with the line's JSON. All that is wrong with it becomes error(failure::input).
template <class Read>
auto read_message(const std::string& line, const Read& read) {
  const std::string name = "a message between processes";
  const json tree(parse_json(line, name));
  return read_members(name, [&] { return read(tree); });
}

const task* task_named(const json& name) {
  const task* const found = find_added_task(name.get<std::string>());
  if (found == nullptr) refuse(fmt::format("unknown task {}", name.dump()));
  return found;
}

const task_axis& axis_named(const task& of, const json& name) {
  const auto found = std::ranges::find(of.axes(), name.get<std::string>(), &task_axis::name);
  if (found == of.axes().end()) refuse(fmt::format("unknown axis {}", name.dump()));
  return *found;
}

// A value of the axis' type, within its bounds.
setting_value value_from(const task_axis& axis, const json& value) {
  const bool is_text = std::holds_alternative<std::string>(axis.preset);
  const bool is_integer = std::holds_alternative<std::int64_t>(axis.preset);
  const bool fits =
      is_text ? value.is_string() &&
                    std::ranges::find(axis.choices, value.get<std::string>()) != axis.choices.end()
              : (is_integer ? value.is_number_integer() : value.is_number()) &&
                    value.get<double>() >= axis.low && value.get<double>() <= axis.high;
  if (!fits) refuse(fmt::format("{} is {}", axis.name, value.dump()));
  if (is_text) return value.get<std::string>();
  if (is_integer) return value.get<std::int64_t>();
  return value.get<double>();
}

settings settings_from(const task& of, const json& list) {
  settings all;
  for (const json& each : list) {
    const task_axis& axis = axis_named(of, each.at("axis"));
    all.push_back({axis.name, value_from(axis, each.at("value"))});
  }
  return all;
}

std::vector<axis_values> own_from(const task& of, const json& list) {
  std::vector<axis_values> own;
  for (const json& each : list) {
    const task_axis& axis = axis_named(of, each.at("axis"));
    own.push_back({axis.name, {}});
    for (const json& value : each.at("values")) {
      own.back().values.push_back(value_from(axis, value));
    }
  }
  return own;
}

// A number that is a value of the enum: both sides write them as numbers.
template <named_enum Enum>
void require_named(const json& of, const char* member) {
  const json& number = of.at(member);
  const bool known =
      number.is_number_integer() && std::ranges::any_of(names<Enum>, [&](const auto& each) {
        return number == static_cast<int>(each.value);
      });
  if (!known) refuse(fmt::format("\"{}\" is {}", member, number.dump()));
}

void require_problem(const json& problem) {
  require_named<dtype>(problem, "type");
  require_named<index_type>(problem, "index");
  require_named<direction>(problem, "direction");
  require_named<payload>(problem, "payload");
  require_named<layout>(problem, "layout");
  require_named<distribution_kind>(problem.at("distribution"), "kind");
  require_named<row_numbers>(problem, "lengths");
  require_named<length_kind>(problem.at("row_lengths"), "kind");
  require_named<mask_bits>(problem, "mask");
  require_named<mask_bits>(problem.at("drawn_mask"), "kind");
  require_named<nan_order>(problem, "nan");
  for (const char* const size : {"n", "q", "k", "pitch", "mask_pitch"}) {
    if (!problem.at(size).is_number_integer() || problem.at(size) < 0) {
      refuse(fmt::format("\"{}\" is {}", size, problem.at(size).dump()));
    }
  }
}

executor_kind executor_named(const json& name) {
  const auto kind = parse<executor_kind>(name.get<std::string>());
  if (!kind) refuse(fmt::format("unknown executor {}", name.dump()));
  return *kind;
}

failure category_from(const json& number) {
  constexpr failure all[] = {failure::cells,        failure::usage,      failure::input,
                             failure::unsupported,  failure::resources,  failure::output,
                             failure::wrong_answer, failure::interrupted};
  for (const failure each : all) {
    if (number == static_cast<int>(each)) return each;
  }
  refuse(fmt::format("unknown category {}", number.dump()));
}

// What the sweep reads of a record, and the journal requires.
worker_message record_message(const json& record) {
  const auto& time = record.at("time");
  if (!parse<cell_status>(record.at("status").get<std::string>())) refuse("unknown status");
  if (!record.at("reason").is_string()) refuse("no reason");
  if (!time.is_null() && !time.at("median").is_number()) refuse("no median");
  if (record.at("schema") != journal_schema || record.contains("crc32") ||
      record.contains("what")) {
    refuse("is no record of a cell");
  }
  worker_message read{.what = worker_message::kind::record};
  read.key = record.at("key");
  return read;
}

worker_message event_message(const json& event) {
  const std::string name = event.at("event");
  if (name == "done") {
    worker_message read{.what = worker_message::kind::done};
    read.retired = event.at("retired");
    return read;
  }
  if (name == "failed") {
    worker_message read{.what = worker_message::kind::failed};
    read.category = category_from(event.at("category"));
    read.message = event.at("message");
    return read;
  }
  if (name != "ceilings") refuse("unknown event");
  worker_message read{.what = worker_message::kind::ceilings};
  read.executor = executor_named(event.at("executor"));
  read.ceilings = ceilings_from(nlohmann::ordered_json(event));
  return read;
}

json plugins_json(std::span<const plugin_choice> plugins) {
  json all = json::array();
  for (const plugin_choice& each : plugins) {
    all.push_back({{"file", bytes_as_characters(each.file)}, {"hash", each.hash}});
  }
  return all;
}

std::vector<plugin_choice> plugins_of(const json& list) {
  std::vector<plugin_choice> all;
  for (const json& each : list) {
    all.push_back({bytes_of_characters(each.at("file").get<std::string>()), each.at("hash")});
  }
  return all;
}

worker_setup setup_of(const json& setup) {
  known_ceilings ceilings;
  for (const auto& [name, value] : setup.at("ceilings").items()) {
    ceilings[executor_named(name)] = ceilings_from(nlohmann::ordered_json(value));
  }
  require_named<cpu_cache>(setup.at("policy"), "cache");
  const json& input = setup.at("input");
  const json& metric = input.contains("vectors") ? input.at("vectors") : input;
  const bool has_metric = !metric.is_null() && !input.contains("rows");
  if (has_metric) require_named<runtime::metric>(metric, "metric");
  input_choice choice{spec_from(input), setup.at("on_gpu"), setup.at("threads")};
  if (setup.contains("task")) {
    choice.task = task_named(setup.at("task"));
    choice.own = own_from(*choice.task, setup.at("own"));
  }
  return {std::move(choice), setup.at("policy"), std::move(ceilings), setup.at("description"),
          plugins_of(setup.at("plugins"))};
}

cell cell_of(const json& each) {
  require_named<executor_kind>(each, "executor");
  require_problem(each.at("problem"));
  cell c;
  c.key = each.at("key");
  const std::string name = each.at("algorithm");
  if (each.contains("task")) {
    c.task = task_named(each.at("task"));
    c.of_problem = settings_from(*c.task, each.at("of_problem"));
    c.of_entry = settings_from(*c.task, each.at("of_entry"));
    for (const registered& entry : c.task->entries()) {
      if (entry.algorithm->name == name) c.entry = &entry;
    }
  } else {
    c.entry = find_algorithm(name);
  }
  if (c.entry == nullptr) refuse(fmt::format("unknown algorithm {}", each.at("algorithm").dump()));
  c.executor = each.at("executor");
  c.problem = each.at("problem");
  return c;
}

}  // namespace

std::string setup_line(const worker_setup& setup) {
  json ceilings = json::object();
  for (const auto& [kind, value] : setup.ceilings) {
    ceilings[std::string(to_string(kind))] = json(to_json(value));
  }
  json line = {{"input", spec_json(setup.input.spec)},  {"on_gpu", setup.input.on_gpu},
               {"threads", setup.input.threads},        {"policy", setup.policy},
               {"description", setup.description},      {"ceilings", std::move(ceilings)},
               {"plugins", plugins_json(setup.plugins)}};
  if (setup.input.task != nullptr) {
    line["task"] = setup.input.task->name();
    line["own"] = own_json(setup.input.own);
  }
  return line.dump();
}

worker_setup setup_from(const std::string& line) { return read_message(line, setup_of); }

std::string group_line(std::span<const cell* const> cells) {
  json group = json::array();
  for (const cell* c : cells) {
    group.push_back({{"key", c->key},
                     {"algorithm", c->entry->algorithm->name},
                     {"executor", c->executor},
                     {"problem", c->problem}});
    if (c->task == nullptr) continue;
    group.back()["task"] = c->task->name();
    group.back()["of_problem"] = settings_json(c->of_problem);
    group.back()["of_entry"] = settings_json(c->of_entry);
  }
  return json{{"group", std::move(group)}}.dump();
}

std::vector<cell> group_from(const std::string& line) {
  return read_message(line, [](const json& message) {
    std::vector<cell> cells;
    for (const json& each : message.at("group")) cells.push_back(cell_of(each));
    if (cells.empty()) refuse("a group without cells");
    return cells;
  });
}

worker_message message_from(const std::string& line) {
  return read_message(line, [](const json& message) {
    return message.contains("event") ? event_message(message) : record_message(message);
  });
}

}  // namespace kselect::harness
