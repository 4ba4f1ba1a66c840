#include "cli/help/help_text.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help/catalogue.hpp"

namespace kselect::cli::help {
namespace {

constexpr std::size_t width = 80, text_column = 26;

// `left`, then the text in a column of its own, from the next line on if `left` is too long.
std::string in_columns(const std::string& left, const std::string& text) {
  std::string out = "  " + left;
  std::size_t at = out.size();
  if (at + 2 > text_column) {
    out += '\n';
    at = 0;
  }
  for (const std::string& word : CLI::detail::split(text, ' ')) {
    if (at > text_column && at + 1 + word.size() > width) {
      out += '\n';
      at = 0;
    }
    const std::size_t gap = at < text_column ? text_column - at : 1;
    out.append(gap, ' ').append(word);
    at += gap + word.size();
  }
  return out + '\n';
}

std::string usage_of(const command_facts& command) {
  // The name stays with its positions; the rest is wrapped under them.
  std::string out = "Usage:";
  std::size_t at = out.size();
  for (const std::string& word : CLI::detail::split(usage_line(command), ' ')) {
    if (at + 1 + word.size() > width) {
      out += "\n      ";
      at = 6;
    }
    out += ' ' + word;
    at += 1 + word.size();
  }
  return out + '\n';
}

std::string options_of(const command_facts& command) {
  const std::vector<std::string> groups = groups_of(command);
  std::string out;
  for (const std::string& group : groups) {
    out += fmt::format("\n{}:\n", group);
    for (const option_facts& o : command.options) {
      if (o.group != group) continue;
      const std::string more = conditions(o);
      out += in_columns(spelling(o), more.empty() ? o.text : fmt::format("{} ({})", o.text, more));
    }
  }
  return out;
}

std::string commands_under(std::string_view title, const std::vector<const command_facts*>& some) {
  std::string out = fmt::format("\n{}:\n", title);
  for (const command_facts* const c : some) out += in_columns(c->path.back(), c->text);
  return out;
}

std::string commands_of(const command_facts& command) {
  std::vector<const command_facts*> rest;
  for (const command_facts& c : command.commands) rest.push_back(&c);
  if (rest.empty()) return {};
  if (!command.path.empty()) return commands_under("Commands", rest);
  std::string out;
  for (const heading& under : headings()) {
    std::vector<const command_facts*> some;
    for (const std::string& name : CLI::detail::split(std::string(under.commands), ' ')) {
      const auto found = std::ranges::find(rest, name, [](auto* c) { return c->path.back(); });
      if (found == rest.end()) continue;
      some.push_back(*found);
      rest.erase(found);
    }
    if (!some.empty()) out += commands_under(under.text, some);
  }
  return rest.empty() ? out : out + commands_under("More", rest);
}

std::string examples_of(const command_facts& command) {
  std::string out;
  for (const example& e : examples()) {
    if (e.command != command.name()) continue;
    if (out.empty()) out = "\nExamples:\n";
    if (!e.purpose.empty()) out += fmt::format("  {}\n", e.purpose);
    out += fmt::format("    {}\n", e.line);
  }
  return out;
}

// "0 success; 1 ...", wrapped.
std::string codes_in_lines(std::string_view title, std::span<const exit_code> codes) {
  std::string out(title);
  std::size_t at = out.size();
  for (const exit_code& c : codes) {
    const std::string part =
        fmt::format("{} {}{}", c.code, c.meaning, &c == &codes.back() ? "." : ";");
    const bool wraps = at + 1 + part.size() > width;
    out += (wraps ? '\n' : ' ') + part;
    at = wraps ? part.size() : at + 1 + part.size();
  }
  return out + '\n';
}

std::vector<std::string> path_of(const CLI::App& app) {
  std::vector<std::string> path;
  for (const CLI::App* at = &app; at->get_parent() != nullptr; at = at->get_parent()) {
    path.insert(path.begin(), at->get_name());
  }
  return path;
}

class text_formatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(facts_of(*app, path_of(*app)));
  }
};

}  // namespace

std::vector<std::string> groups_of(const command_facts& command) {
  std::vector<std::string> groups;
  for (const option_facts& o : command.options) {
    if (!std::ranges::count(groups, o.group)) groups.push_back(o.group);
  }
  // Positions first, then what nobody grouped, which CLI11 calls Options.
  for (const std::string_view first :
       {std::string_view("Options"), std::string_view(arguments_group)}) {
    std::stable_partition(groups.begin(), groups.end(),
                          [&](const std::string& group) { return group == first; });
  }
  return groups;
}

std::string spelling(const option_facts& o) {
  std::string names = fmt::format("{}", fmt::join(o.names, ", "));
  if (!o.value.empty() && !names.empty()) names += ' ' + o.value;
  if (o.position.empty()) return names + (o.repeats ? "..." : "");
  const std::string position = o.position + (o.repeats ? "..." : "");
  return names.empty() ? position : fmt::format("{}, {}", position, names);
}

std::string conditions(const option_facts& o) {
  std::vector<std::string> parts;
  if (o.required && o.position.empty()) parts.emplace_back("required");
  const bool said = std::ranges::all_of(
      o.choices, [&](const std::string& word) { return o.text.find(word) != std::string::npos; });
  if (!said) parts.push_back(fmt::format("{}", fmt::join(o.choices, ", ")));
  if (!o.range.empty()) parts.push_back(o.range);
  if (!o.preset.empty()) parts.push_back(fmt::format("default {}", o.preset));
  if (!o.variable.empty()) parts.push_back(fmt::format("or from ${}", o.variable));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string help_text(const command_facts& command) {
  std::string out = fmt::format("{}\n\n{}", command.text, usage_of(command));
  out += commands_of(command) + options_of(command) + examples_of(command);
  if (ends_with_verdict(command.name())) {
    out += '\n' + codes_in_lines("Exit codes:", verdict_codes());
  }
  if (!command.path.empty()) return out;
  return out + "\n`kselect help COMMAND` shows a command's options and examples.\n" +
         "Every answer is proven by a certificate before it is written or timed.\n" +
         codes_in_lines("Exit codes:", exit_codes());
}

std::string exit_code_page() {
  std::string out;
  for (const exit_code& c : exit_codes()) out += fmt::format("{:>4}  {}\n", c.code, c.meaning);
  out += "\n`kselect compare` and `kselect ab` end with a verdict:\n\n";
  for (const exit_code& c : verdict_codes()) out += fmt::format("{:>4}  {}\n", c.code, c.meaning);
  return out;
}

std::shared_ptr<CLI::FormatterBase> formatter() { return std::make_shared<text_formatter>(); }

}  // namespace kselect::cli::help
