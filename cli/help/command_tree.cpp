// CLI11 has one text for the type of a value, the bounds and the words that are accepted:
// "INT:INT in [1 - 4096]", "TEXT:{auto,cpu}". It is taken apart here.

#include "cli/help/command_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kselect/registry.hpp"
#include "runtime/error.hpp"

namespace kselect::cli::help {
namespace {

// TEXT is a value that no type_name describes.
constexpr std::array<std::pair<std::string_view, value_kind>, 8> kinds_of_values = {
    {{"DIR", value_kind::directory},
     {"RUN", value_kind::directory},
     {"CONFIG", value_kind::config},
     {"ALGORITHM", value_kind::algorithm},
     {"COMMAND", value_kind::command},
     {"GLOB", value_kind::algorithm},  // over their names
     {"FILE", value_kind::file},
     {"TEXT", value_kind::file}}};

value_kind kind_of(std::string_view value) {
  for (const auto& [known, kind] : kinds_of_values) {
    if (value == known) return kind;
  }
  return value_kind::free;
}

// 1099511627776 as people read it: 2^40. CLI11 writes floating-point bounds like 1e+06.
std::string bound(std::string_view digits) {
  double number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr double exact = std::int64_t{1} << 53;
  if (problem != std::errc() || end != digits.data() + digits.size() || !(number < exact) ||
      !(number > -exact) || number != std::trunc(number)) {
    return std::string(digits);
  }
  const auto value = static_cast<std::int64_t>(number);
  if (value > 100'000 && std::has_single_bit(static_cast<std::uint64_t>(value))) {
    return fmt::format("2^{}", std::countr_zero(static_cast<std::uint64_t>(value)));
  }
  return fmt::format("{}", value);
}

std::string range_of(std::string_view checks) {
  const std::size_t from = checks.find(" in ["), between = checks.find(" - ", from);
  const std::size_t end = checks.find(']', between);
  if (from == std::string_view::npos || end == std::string_view::npos) return {};
  return fmt::format("{} to {}", bound(checks.substr(from + 5, between - from - 5)),
                     bound(checks.substr(between + 3, end - between - 3)));
}

std::vector<std::string> choices_of(std::string_view checks) {
  if (!checks.starts_with('{') || !checks.ends_with('}')) return {};
  return CLI::detail::split(std::string(checks.substr(1, checks.size() - 2)), ',');
}

void read_type(const CLI::Option& option, option_facts& facts) {
  const std::string whole = option.get_type_name();
  const std::size_t colon = whole.find(':');
  const std::string type = whole.substr(0, colon);
  const std::string_view checks =
      colon == std::string::npos ? std::string_view() : std::string_view(whole).substr(colon + 1);
  facts.choices = choices_of(checks);
  facts.range = range_of(checks);
  facts.value = type == "INT" || type == "UINT" ? "N"
                : type == "FLOAT"               ? "X"
                : type == "TEXT"                ? facts.choices.empty() ? "TEXT" : "NAME"
                                                : type;
  facts.kind = facts.choices.empty() ? kind_of(facts.value) : value_kind::choice;
}

option_facts option_of(const CLI::Option& option) {
  option_facts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.position = option.get_positional() ? option.get_name(true) : "";
  facts.text = option.get_description();
  facts.preset = option.get_default_str();
  facts.group = facts.position.empty() ? option.get_group() : std::string(arguments_group);
  facts.variable = option.get_envname();
  facts.required = option.get_required();
  facts.repeats = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) read_type(option, facts);
  return facts;
}

}  // namespace

std::string command_facts::name() const { return fmt::format("{}", fmt::join(path, " ")); }

std::string command_facts::full_name() const {
  return path.empty() ? "kselect" : fmt::format("kselect {}", fmt::join(path, " "));
}

std::string command_facts::page() const {
  return path.empty() ? "kselect" : fmt::format("kselect-{}", fmt::join(path, "-"));
}

command_facts facts_of(const CLI::App& app, std::vector<std::string> path) {
  command_facts facts;
  facts.text = app.get_description();
  facts.group = app.get_group();
  facts.needs_command = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* const option : app.get_options()) {
    if (!option->get_group().empty()) facts.options.push_back(option_of(*option));
  }
  // CLI11 adds --help first; in a list it comes last.
  std::stable_partition(facts.options.begin(), facts.options.end(), [](const option_facts& o) {
    return !std::ranges::count(o.names, "--help") && !std::ranges::count(o.names, "--version");
  });
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;  // internal
    std::vector<std::string> to = path;
    to.push_back(below->get_name());
    facts.commands.push_back(facts_of(*below, std::move(to)));
  }
  facts.path = std::move(path);
  return facts;
}

std::vector<const command_facts*> all_commands(const command_facts& command) {
  std::vector<const command_facts*> all = {&command};
  for (const command_facts& below : command.commands) {
    const auto more = all_commands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto near = nearest_names(word, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, " or "));
}

const command_facts& find_command(const command_facts& program,
                                  const std::vector<std::string>& words) {
  const command_facts* at = &program;
  for (const std::string& word : words) {
    std::vector<std::string> known;
    for (const command_facts& below : at->commands) known.push_back(below.path.back());
    const auto found = std::ranges::find(known, word);
    if (found == known.end()) {
      throw runtime::error(runtime::failure::usage,
                           fmt::format("'{}' is no command of `{}`{}{}", word, at->full_name(),
                                       did_you_mean(word, known),
                                       known.empty() ? "" : "; `kselect help` lists all commands"));
    }
    at = &at->commands[static_cast<std::size_t>(found - known.begin())];
  }
  return *at;
}

std::string usage_line(const command_facts& command) {
  std::string line = command.full_name();
  if (!command.commands.empty()) line += command.needs_command ? " COMMAND" : " [COMMAND]";
  bool optional = false;
  for (const option_facts& o : command.options) {
    if (o.position.empty()) continue;
    const std::string position = o.position + (o.repeats ? "..." : "");
    line += o.required ? ' ' + position : fmt::format(" [{}]", position);
  }
  for (const option_facts& o : command.options) {
    if (!o.position.empty()) continue;
    if (o.required) line += fmt::format(" {} {}", o.names.back(), o.value);
    optional = optional || !o.required;
  }
  return line + (optional ? " [OPTIONS]" : "");
}

}  // namespace kselect::cli::help
