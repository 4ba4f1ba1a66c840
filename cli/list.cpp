// `kselect list` shows every algorithm, its promises, and where it can run here.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/format.hpp"
#include "runtime/plugins/plugins.hpp"

namespace kselect::cli {
namespace {

using json = nlohmann::ordered_json;

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
          {"plugin", find_plugin(row.file) == nullptr ? json() : json(row.file)},
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
          {"ragged", members(entry.ragged)},
          {"masks", entry.masks},
          {"nan_orders", members(entry.nans)},
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
  if (find_plugin(row.file) != nullptr) fmt::print("  plug-in    {}\n", row.file);
  fmt::print("  contract   {}; ties: {}; deterministic: {}; NaN: {}; zeros: {}{}{}{}\n",
             to_string(promises.ordering), to_string(promises.tie_break),
             to_string(promises.determinism), to_string(promises.nan), to_string(promises.zeros),
             promises.infinities ? "" : "; no infinities",
             promises.synchronises ? "; synchronises" : "",
             promises.modifies_input ? "; modifies its input" : "");
  const bool places_nan = entry.nans.contains(nan_order::last);
  fmt::print("  takes      {}; {}; {}{}{}{}\n", fmt::join(members(entry.dtypes), ", "),
             fmt::join(members(entry.payloads), ", "), fmt::join(members(entry.layouts), ", "),
             entry.ragged.bits != 0 ? "; ragged rows" : "", entry.masks ? "; masks" : "",
             places_nan ? "; NaN last or first" : "");
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

// The entries that the glob names; all of them without one. Throws error(failure::usage) if there
// is none.
std::vector<const registered*> chosen_entries(const std::string& glob) {
  if (!glob.empty()) {
    auto found = match_algorithms(glob);
    // A family's name will do as well.
    for (const registered& row : registry()) {
      if (found.empty() && row.algorithm->family == glob) {
        for (const registered& of : registry()) {
          if (of.algorithm->family == glob) found.push_back(&of);
        }
      }
    }
    if (found.empty()) require_algorithm(glob);  // says what is near
    return found;
  }
  std::vector<const registered*> all;
  for (const registered& row : registry()) all.push_back(&row);
  return all;
}

// One line of the short list.
struct family_line {
  std::string_view family;
  std::size_t entries = 0;
  std::vector<std::string> names;  // without their variants
  std::vector<std::string> runs_on, here;
};

void append_new(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

void count_entry(family_line& line, const algorithm& entry) {
  ++line.entries;
  append_new(line.names, std::string(entry.name.substr(0, entry.name.find('+'))));
  for (const auto& kind : names<executor_kind>) {
    if (!entry.executors.contains(kind.value)) continue;
    append_new(line.runs_on, std::string(kind.name));
    if (obstacle(entry, kind.value).empty()) append_new(line.here, std::string(kind.name));
  }
}

void print_families(const std::vector<const registered*>& entries) {
  std::vector<family_line> lines;
  std::size_t width = 6;
  for (const registered* const row : entries) {
    const std::string_view family = row->algorithm->family;
    auto line = std::ranges::find(lines, family, &family_line::family);
    if (line == lines.end()) {
      lines.emplace_back().family = family;
      line = std::prev(lines.end());
    }
    width = std::max(width, family.size());
    count_entry(*line, *row->algorithm);
  }
  fmt::print("{:<{}}  entries  {:<16}  {:<16}  names, without variants\n", "family", width,
             "written for", "runs here on");
  for (const family_line& line : lines) {
    fmt::print("{:<{}}  {:>7}  {:<16}  {:<16}  {}\n", line.family, width, line.entries,
               fmt::format("{}", fmt::join(line.runs_on, ", ")),
               line.here.empty() ? "nothing" : fmt::format("{}", fmt::join(line.here, ", ")),
               fmt::join(line.names, ", "));
  }
  fmt::print(
      "{}; --names lists them, --long says what each promises and why it cannot "
      "run here\n",
      amount_of(entries.size(), "entry"));
}

struct list_arguments {
  std::string glob;
  bool whole = false, only_names = false, as_json = false;
};

int list(const list_arguments& o) {
  const auto entries = chosen_entries(o.glob);
  if (o.as_json) {
    json all = json::array();
    for (const registered* const row : entries) all.push_back(entry_json(*row));
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  if (o.only_names) {
    for (const registered* const row : entries) fmt::print("{}\n", row->algorithm->name);
    return 0;
  }
  if (o.whole) {
    for (const registered* const row : entries) print_entry(*row);
  } else {
    print_families(entries);
  }
  if (o.glob.empty()) print_absent();
  return 0;
}

}  // namespace

void add_list(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("list", "List algorithms: families, entries, contracts, executors");
  const auto o = std::make_shared<list_arguments>();
  command
      ->add_option("GLOB", o->glob, "only entries whose name matches, such as 'bms-*', or a family")
      ->type_name("GLOB");
  CLI::Option* const whole =
      command->add_flag("--long", o->whole, "everything about each: contract, limits, executors");
  CLI::Option* const only_names = command->add_flag("--names", o->only_names, "a name a line");
  CLI::Option* const as_json = command->add_flag("--json", o->as_json, "as one JSON array");
  as_json->excludes(whole)->excludes(only_names);
  only_names->excludes(whole);
  option_plugins(*command);
  command->callback([&chosen, o] { chosen = [o] { return list(*o); }; });
}

}  // namespace kselect::cli
