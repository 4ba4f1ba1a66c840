// The script has three tables, each a `case` over commands, and one function that walks the words
// before the cursor. It needs bash alone, not the package bash-completion.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help/completion.hpp"
#include "cli/stock_configs.hpp"
#include "kselect/registry.hpp"

namespace kselect::cli::help {
namespace {

// How _kselect_offer names what completes a value.
std::string bash_offer(const option_facts& o) {
  switch (o.kind) {
    case value_kind::none:
      return {};
    case value_kind::free:
      return "nothing";
    case value_kind::choice:
      return fmt::format("words {}", fmt::join(o.choices, " "));
    case value_kind::file:
      return "files";
    case value_kind::directory:
      return "directories";
    case value_kind::config:
      return "configs";
    case value_kind::algorithm:
      return "algorithms";
    case value_kind::command:
      return "commands";
  }
  return {};
}

std::string table_of_commands(const command_facts& program) {
  std::string out = "# The commands below a command.\n_kselect_commands() {\n  case $1 in\n";
  for (const command_facts* const c : all_commands(program)) {
    if (c->commands.empty()) continue;
    std::vector<std::string> names;
    for (const command_facts& below : c->commands) names.push_back(below.path.back());
    out += fmt::format("    {}) echo {} ;;\n", quoted(c->name()),
                       quoted(fmt::format("{}", fmt::join(names, " "))));
  }
  return out + "  esac\n}\n\n";
}

std::string table_of_options(const command_facts& program) {
  std::string out = "# The options of a command.\n_kselect_options() {\n  case $1 in\n";
  for (const command_facts* const c : all_commands(program)) {
    std::vector<std::string> names;
    for (const option_facts& o : c->options) {
      names.insert(names.end(), o.names.begin(), o.names.end());
    }
    out += fmt::format("    {}) echo {} ;;\n", quoted(c->name()),
                       quoted(fmt::format("{}", fmt::join(names, " "))));
  }
  return out + "  esac\n}\n\n";
}

std::string table_of_values(const command_facts& program) {
  std::string out =
      "# What completes the value of an option, or the word at a position; nothing for a flag.\n"
      "# `many` in front of it: several words may follow.\n"
      "_kselect_values() {  # COMMAND (OPTION|POSITION)\n  case \"$1 $2\" in\n";
  for (const command_facts* const c : all_commands(program)) {
    int position = 0;
    for (const option_facts& o : c->options) {
      if (o.kind == value_kind::none) continue;
      const std::string many = o.repeats ? "many " : "";
      for (const std::string& name : o.names) {
        out += fmt::format("    {}) echo {} ;;\n", quoted(c->name() + ' ' + name),
                           quoted(many + bash_offer(o)));
      }
      if (o.position.empty()) continue;
      ++position;
      out += fmt::format(
          "    {}{}) echo {} ;;\n",
          quoted(fmt::format("{} {}", c->name(), o.repeats ? "" : std::to_string(position))),
          o.repeats ? "[0-9]*" : "", quoted(bash_offer(o)));
    }
  }
  return out + "  esac\n}\n\n";
}

constexpr char walk[] =
    R"script(# Fills COMPREPLY. `current` is the word at the cursor, `positions` are the words at positions.
_kselect_offer() {  # KIND WORD...
  local kind=$1
  shift
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$*" -- "$current") ;;
    algorithms) mapfile -t COMPREPLY < <(compgen -W "$(_kselect_algorithms)" -- "$current") ;;
    commands)
      mapfile -t COMPREPLY < <(compgen -W "$(_kselect_commands "${positions[*]}")" -- "$current")
      ;;
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    directories)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      ;;
    configs)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -W "$(_kselect_configs)" -- "$current"
                               compgen -d -- "$current"; compgen -f -X '!*.json' -- "$current")
      ;;
  esac
}

_kselect() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' word values='' i
  local -a positions=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    # bash makes three words of --option=value.
    if [[ $word == = ]]; then continue; fi
    if [[ $word == -?* ]]; then
      values=$(_kselect_values "$command" "$word")
    elif [[ -n $values ]]; then
      [[ $values == many\ * ]] || values=''
    elif [[ ${#positions[@]} == 0 && " $(_kselect_commands "$command") " == *" $word "* ]]; then
      command=${command:+$command }$word
    else
      positions+=("$word")
    fi
  done
  if [[ $current == = ]]; then current=''; fi
  if [[ $current == -* && ( -z $values || $values == many\ * ) ]]; then
    _kselect_offer words "$(_kselect_options "$command")"
  elif [[ -n $values ]]; then
    _kselect_offer ${values#many }
  else
    local commands=''
    if [[ ${#positions[@]} == 0 ]]; then commands=$(_kselect_commands "$command"); fi
    if [[ -n $commands ]]; then
      _kselect_offer words "$commands"
    else
      values=$(_kselect_values "$command" "$((${#positions[@]} + 1))")
      _kselect_offer ${values:-nothing}
    fi
  fi
}

complete -F _kselect kselect
)script";

}  // namespace

std::string bash_completion(const command_facts& program) {
  return "# bash completion of kselect, written by `kselect completion bash`.\n\n" +
         table_of_commands(program) + table_of_options(program) + table_of_values(program) +
         fmt::format("_kselect_algorithms() {{\n  echo {}\n}}\n\n", quoted(algorithm_names())) +
         fmt::format("_kselect_configs() {{\n  echo {}\n}}\n\n", quoted(config_names())) + walk;
}

std::string algorithm_names() {
  std::vector<std::string_view> names;
  for (const registered& entry : registry()) names.push_back(entry.algorithm->name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string config_names() { return fmt::format("{}", fmt::join(stock_config_names(), " ")); }

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

}  // namespace kselect::cli::help
