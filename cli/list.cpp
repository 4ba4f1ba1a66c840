// `kselect list` shows every algorithm, its promises, and where it can run here.

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::cli {
namespace {

using json = nlohmann::ordered_json;

template <class Enum>
std::vector<std::string> members(enum_set<Enum> set) {
  std::vector<std::string> list;
  for (const auto& entry : names<Enum>) {
    if (set.contains(entry.value)) list.emplace_back(entry.name);
  }
  return list;
}

json limits_json(const limits& l) {
  const auto bound = [](std::int64_t value) { return value == unlimited ? json() : json(value); };
  return {{"n", bound(l.max_n)},
          {"q", bound(l.max_q)},
          {"k", bound(l.max_k)},
          {"alignment_bytes", l.alignment}};
}

// Why an algorithm cannot run on an executor here; empty if it can.
std::string obstacle(const algorithm& entry, executor_kind kind) {
  if (!entry.executors.contains(kind)) return "not written for it";
  if (!entry.missing.empty()) return std::string(entry.missing);
  return why_unavailable(kind);
}

json entry_json(const registered& row) {
  const algorithm& entry = *row.algorithm;
  const contract& promises = entry.promises;
  json executors = json::object();
  for (const auto& kind : names<executor_kind>) {
    const std::string reason = obstacle(entry, kind.value);
    executors[std::string(kind.name)] = {{"here", reason.empty()}, {"reason", reason}};
  }
  return {{"name", entry.name},
          {"family", entry.family},
          {"source", entry.source},
          {"file", row.file},
          {"contract",
           {{"ordering", to_string(promises.ordering)},
            {"tie_break", to_string(promises.tie_break)},
            {"determinism", to_string(promises.determinism)},
            {"nan", to_string(promises.nan)},
            {"zeros", to_string(promises.zeros)},
            {"infinities", promises.infinities},
            {"synchronises", promises.synchronises},
            {"modifies_input", promises.modifies_input}}},
          {"limits", limits_json(promises.limits)},
          {"dtypes", members(entry.dtypes)},
          {"index_types", members(entry.index_types)},
          {"payloads", members(entry.payloads)},
          {"layouts", members(entry.layouts)},
          {"threaded", entry.threaded},
          {"executors", executors}};
}

std::string limits_text(const limits& l) {
  std::vector<std::string> parts;
  const auto bound = [&](const char* name, std::int64_t value) {
    if (value != unlimited) parts.push_back(fmt::format("{} <= {}", name, value));
  };
  bound("n", l.max_n);
  bound("Q", l.max_q);
  bound("k", l.max_k);
  if (l.alignment != 0) parts.push_back(fmt::format("rows aligned to {} bytes", l.alignment));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

void print_entry(const registered& row) {
  const algorithm& entry = *row.algorithm;
  const contract& promises = entry.promises;
  fmt::print("{}\n", entry.name);
  fmt::print("  family     {}\n", entry.family);
  fmt::print("  source     {}\n", entry.source);
  fmt::print("  contract   {}; ties: {}; deterministic: {}; NaN: {}; zeros: {}{}{}{}\n",
             to_string(promises.ordering), to_string(promises.tie_break),
             to_string(promises.determinism), to_string(promises.nan), to_string(promises.zeros),
             promises.infinities ? "" : "; no infinities",
             promises.synchronises ? "; synchronises" : "",
             promises.modifies_input ? "; modifies its input" : "");
  fmt::print("  takes      {}; {}; {}\n", fmt::join(members(entry.dtypes), ", "),
             fmt::join(members(entry.payloads), ", "), fmt::join(members(entry.layouts), ", "));
  fmt::print("  limits     {}\n", limits_text(promises.limits));
  std::vector<std::string> places;
  for (const auto& kind : names<executor_kind>) {
    if (!entry.executors.contains(kind.value)) continue;
    const std::string reason = obstacle(entry, kind.value);
    places.push_back(reason.empty() ? fmt::format("{}: yes", kind.name)
                                    : fmt::format("{}: no, {}", kind.name, reason));
  }
  fmt::print("  runs here  {}\n\n", fmt::join(places, "; "));
}

// Prints the algorithms that this build lacks, so that nobody searches for them.
void print_absent() {
  if (built_globs().empty()) return;
  std::vector<std::string_view> absent;
  for (const absent_file& file : absent_files()) absent.push_back(file.entries);
  fmt::print("left out of this program, which was built with KSELECT_ALGORITHMS='{}': {}\n",
             built_globs(), fmt::join(absent, ", "));
}

void list_all() {
  for (const registered& row : registry()) print_entry(row);
  print_absent();
}

}  // namespace

void add_list(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("list", "List every algorithm: contract, limits, executors");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "as one JSON array");
  command->callback([&chosen, as_json] {
    chosen = [as_json] {
      if (!*as_json) {
        list_all();
        return 0;
      }
      json all = json::array();
      for (const registered& row : registry()) all.push_back(entry_json(row));
      fmt::print("{}\n", all.dump(2));
      return 0;
    };
  });
}

}  // namespace kselect::cli
