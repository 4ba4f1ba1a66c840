// A `complete` an option. A function finds the command that the words before the cursor name.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help/completion.hpp"

namespace kselect::cli::help {
namespace {

// Within single quotes fish escapes the quote and the backslash alone.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

// -F: file names; -x: a value, but no file name.
std::string fish_offer(const option_facts& o) {
  switch (o.kind) {
    case value_kind::none:
      return {};
    case value_kind::choice:
      return " -x -a " + fish_quoted(fmt::format("{}", fmt::join(o.choices, " ")));
    case value_kind::file:
      return " -r -F";
    case value_kind::directory:
      return " -x -a '(__fish_complete_directories)'";
    case value_kind::config:
      return " -x -a '(__kselect_configs; __fish_complete_suffix .json)'";
    case value_kind::algorithm:
      return " -x -a '(__kselect_algorithms)'";
    case value_kind::command:
      return " -x -a '(__kselect_commands)'";
    case value_kind::free:
      return " -x";
  }
  return {};
}

std::string head(const command_facts& program) {
  std::vector<std::string> names, top;
  for (const command_facts* const c : all_commands(program)) {
    if (!c->path.empty()) names.push_back(fish_quoted(c->name()));
    if (c->path.size() == 1) top.push_back(c->path.front());
  }
  std::string out = "# fish completion of kselect, written by `kselect completion fish`.\n\n";
  out += "# The command that is being typed: index knn.\nfunction __kselect_command\n";
  out += "    set -l path\n    for word in (commandline -opc)[2..-1]\n";
  out += "        switch (string join ' ' -- $path $word)\n";
  out += fmt::format("            case {}\n", fmt::join(names, " "));
  out += "                set path $path $word\n        end\n    end\n";
  out += "    string join ' ' -- $path\nend\n\n";
  out += "function __kselect_at\n    set -l command (__kselect_command)\n";
  out += "    test \"$command\" = \"$argv[1]\"\nend\n\n";
  out += fmt::format("function __kselect_algorithms\n    string split ' ' -- {}\nend\n\n",
                     fish_quoted(algorithm_names()));
  out += fmt::format("function __kselect_configs\n    string split ' ' -- {}\nend\n\n",
                     fish_quoted(config_names()));
  out += fmt::format("function __kselect_commands\n    string split ' ' -- {}\nend\n\n",
                     fish_quoted(fmt::format("{}", fmt::join(top, " "))));
  return out + "complete -c kselect -f\n";
}

std::string lines_of(const command_facts& command) {
  const std::string start = fmt::format(
      "complete -c kselect -n {}", fish_quoted(fmt::format("__kselect_at \"{}\"", command.name())));
  std::string out;
  for (const command_facts& below : command.commands) {
    out += fmt::format("{} -a {} -d {}\n", start, below.path.back(), fish_quoted(below.text));
  }
  for (const option_facts& o : command.options) {
    if (!o.position.empty()) {
      // A position has no -r or -x of its own.
      std::string words = fish_offer(o);
      if (const std::size_t at = words.find("-F"); at != std::string::npos) words = " -F";
      if (words.starts_with(" -x")) words = words.substr(3);
      if (!words.empty()) out += start + words + '\n';
    }
    if (o.names.empty()) continue;
    out += start;
    for (const std::string& name : o.names) {
      const bool is_long = name.starts_with("--");
      out += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
    }
    out += fmt::format("{} -d {}\n", fish_offer(o), fish_quoted(o.text));
  }
  return out;
}

}  // namespace

std::string fish_completion(const command_facts& program) {
  std::string out = head(program);
  for (const command_facts* const c : all_commands(program)) out += lines_of(*c);
  return out;
}

}  // namespace kselect::cli::help
