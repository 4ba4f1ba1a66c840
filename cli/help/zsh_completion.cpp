// A function a command, each of which calls zsh's _arguments.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help/completion.hpp"

namespace kselect::cli::help {
namespace {

// What _arguments reads as its own within a description.
std::string described(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string function_name(const command_facts& command) {
  std::string name = "_" + command.page();
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string zsh_action(const option_facts& o) {
  switch (o.kind) {
    case value_kind::choice:
      return fmt::format("({})", fmt::join(o.choices, " "));
    case value_kind::file:
      return "_files";
    case value_kind::directory:
      return "_files -/";
    case value_kind::config:
      return "_kselect_configs";
    case value_kind::algorithm:
      return "_kselect_algorithms";
    case value_kind::command:
      return "_kselect_named_commands";
    default:
      return " ";  // there is a value, and nothing to offer
  }
}

std::string specifications(const command_facts& command) {
  std::string out;
  int position = 0;
  for (const option_facts& o : command.options) {
    const bool flag = o.kind == value_kind::none;
    for (const std::string& name : o.names) {
      const std::string value =
          flag ? "" : fmt::format(":{}:{}", described(o.value), zsh_action(o));
      const bool is_long = name.starts_with("--");
      out += fmt::format(" \\\n    {}", quoted(fmt::format("{}{}{}[{}]{}", o.repeats ? "*" : "",
                                                           name, flag || !is_long ? "" : "=",
                                                           described(o.text), value)));
    }
    if (o.position.empty()) continue;
    ++position;
    out += fmt::format(" \\\n    {}",
                       quoted(fmt::format("{}:{}:{}", o.repeats ? "*" : std::to_string(position),
                                          described(o.position), zsh_action(o))));
  }
  return out;
}

std::string list_function(const command_facts& command) {
  std::string out = fmt::format("{}_commands() {{\n  local -a commands=(", function_name(command));
  for (const command_facts& below : command.commands) {
    out += "\n    " + quoted(fmt::format("{}:{}", below.path.back(), below.text));
  }
  return out + "\n  )\n  _describe -t commands command commands\n}\n\n";
}

// A command with commands below it leaves all words after theirs to their functions.
std::string group_function(const command_facts& command) {
  const std::string name = function_name(command);
  std::string out = list_function(command);
  out += fmt::format(
      "{0}() {{\n  local curcontext=$curcontext state line\n  local -A opt_args\n"
      "  _arguments -C{1} \\\n    '1:command:{0}_commands' \\\n    '*::argument:->arguments'\n"
      "  [[ $state == arguments ]] || return 0\n  case $line[1] in\n",
      name, specifications(command));
  for (const command_facts& below : command.commands) {
    out += fmt::format("    {}) {} ;;\n", below.path.back(), function_name(below));
  }
  return out + "  esac\n}\n\n";
}

std::string named_commands(const command_facts& program) {
  std::vector<std::string> groups;
  std::string out =
      "_kselect_named_commands() {\n  if (( CURRENT == 2 )); then _kselect_commands; return; fi\n"
      "  case $words[2] in\n";
  for (const command_facts& c : program.commands) {
    if (c.commands.empty()) continue;
    out += fmt::format("    {}) {}_commands ;;\n", c.path.back(), function_name(c));
  }
  return out + "  esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const command_facts& program) {
  std::string out =
      "#compdef kselect\n# zsh completion of kselect, written by `kselect completion zsh`.\n\n";
  out += fmt::format("_kselect_algorithms() {{\n  local -a names=({})\n  compadd -a names\n}}\n\n",
                     algorithm_names());
  out += fmt::format(
      "_kselect_configs() {{\n  local -a names=({})\n"
      "  _alternative 'names:stock config:compadd -a names' "
      "'files:config file:_files -g \"*.json\"'\n}}\n\n",
      config_names());
  for (const command_facts* const c : all_commands(program)) {
    out += c->commands.empty() ? fmt::format("{}() {{\n  _arguments -S{}\n}}\n\n",
                                             function_name(*c), specifications(*c))
                               : group_function(*c);
  }
  return out + named_commands(program) +
         "if [[ $funcstack[1] == _kselect ]]; then _kselect \"$@\"; else compdef _kselect kselect; "
         "fi\n";
}

}  // namespace kselect::cli::help
