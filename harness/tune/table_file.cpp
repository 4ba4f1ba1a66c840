#include "harness/tune/table_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::tune {
namespace {

using json = nlohmann::ordered_json;

// A JSON list of rows of `columns` numbers each, one row per line.
template <class Number>
std::string rows(const std::vector<Number>& numbers, std::size_t columns, const char* format) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); i += columns) {
    text += i == 0 ? "\n    [" : ",\n    [";
    for (std::size_t j = 0; j < columns; ++j) {
      if (j != 0) text += ", ";
      text += fmt::format(fmt::runtime(format), numbers[i + j]);
    }
    text += ']';
  }
  return text + "\n  ]";
}

json quality_json(const regret& r) {
  return {{"geometric_mean", std::round(r.mean * 1e4) / 1e4},
          {"worst", std::round(r.worst * 1e4) / 1e4},
          {"worst_at", r.choices.empty() ? "" : to_string(r.choices.front().problem)}};
}

// The numbers of a list of lists. Throws if one of them does not have `columns` numbers.
template <class Number>
std::vector<Number> flattened(const json& list, std::size_t columns) {
  std::vector<Number> numbers;
  for (const json& row : list) {
    if (row.size() != columns) {
      throw error(failure::input, fmt::format("a row has {}, not {}",
                                              runtime::amount_of(row.size(), "number"), columns));
    }
    for (const json& number : row) numbers.push_back(number.get<Number>());
  }
  return numbers;
}

learned_table table_of(const json& from) {
  if (from.at("schema") != table_schema) {
    throw error(failure::input, fmt::format("schema is not {}", table_schema));
  }
  const auto terms = from.at("terms").get<std::vector<std::string>>();
  if (!std::ranges::equal(terms, cost_term_names)) {
    throw error(failure::input, "its costs are of other terms; learn it again with `kselect tune`");
  }
  learned_table table;
  table.device.name = from.at("device").at("name");
  table.device.multiprocessors = runtime::whole<int>(from.at("device").at("multiprocessors"));
  table.device.compute_capability = runtime::whole<int>(from.at("device").at("compute_capability"));
  if (table.device.compute_capability == 0) table.device.kind = executor_kind::cpu;
  table.source = from.at("source");
  table.sources = from.at("sources");
  table.members = from.at("members").get<std::vector<std::string>>();
  table.costs = flattened<double>(from.at("costs"), cost_term_count);
  table.reach = from.at("reach").get<cost_point>();
  table.points = from.at("points").get<std::vector<cost_point>>();
  table.corrections = flattened<double>(from.at("corrections"), table.members.size());
  if (table.members.empty() || table.members.size() > max_table_members ||
      table.costs.size() != table.members.size() * cost_term_count ||
      table.corrections.size() != table.points.size() * table.members.size() ||
      table.device.multiprocessors < 1) {
    throw error(failure::input, "its lists do not go together");
  }
  return table;
}

}  // namespace

std::string table_text(const learned_table& table, const table_quality& quality) {
  std::vector<double> points;
  for (const cost_point& point : table.points) {
    points.insert(points.end(), point.begin(), point.end());
  }
  const json device = {{"name", table.device.name},
                       {"multiprocessors", table.device.multiprocessors},
                       {"compute_capability", table.device.compute_capability}};
  std::string text = "{\n";
  const auto line = [&](const char* key, const std::string& value, bool last = false) {
    text += fmt::format("  \"{}\": {}{}\n", key, value, last ? "" : ",");
  };
  line("_note",
       "\"Written by `kselect tune`; algorithms/auto_select/cost_table.hpp says what it means.\"");
  line("schema", json(table_schema).dump());
  line("device", device.dump());
  line("source", json(table.source).dump());
  line("sources", table.sources.dump());
  line("problems", fmt::format("{}", quality.problems));
  line("regret", quality_json(quality.fitted).dump());
  line("regret_held_out", quality_json(quality.held_out).dump());
  line("members", json(table.members).dump());
  line("terms", json(cost_term_names).dump());
  line("costs", rows(table.costs, cost_term_count, "{:.6g}"));
  line("reach", json(table.reach).dump());
  line("points", rows(points, std::tuple_size_v<cost_point>, "{:.6g}"));
  line("corrections", rows(table.corrections, table.members.size(), "{:.6g}"), true);
  return text + "}\n";
}

learned_table read_table(const std::filesystem::path& path) {
  const json tree = read_json(path);
  try {
    return table_of(tree);
  } catch (const std::exception& wrong) {
    throw error(failure::input,
                fmt::format("{}: is no cost table: {}", path.string(), runtime::reason_of(wrong)));
  }
}

}  // namespace kselect::harness::tune
