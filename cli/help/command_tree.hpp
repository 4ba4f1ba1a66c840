#pragma once
// What the program's commands and options are, read from CLI11's App. Help, man pages and shell
// completion are all written from this, so they cannot differ.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"

namespace kselect::cli::help {

// What may stand for a value, for completion. An option says so by its type_name.
enum class value_kind {
  none,       // a flag
  free,       // a number or a word that nobody can list
  choice,     // one of option_facts::choices
  file,       // FILE, also NAME.npy and the like
  directory,  // DIR, RUN
  config,     // CONFIG: a JSON file
  algorithm,  // ALGORITHM: an entry's name
  command     // COMMAND: a subcommand of this program
};

// The heading of everything that is given by its position.
inline constexpr char arguments_group[] = "Arguments";

struct option_facts {
  std::vector<std::string> names;    // "--k"; empty if the value is given by its position alone
  std::string position;              // "ROWS"; empty if the value is given by name alone
  std::string value;                 // as help writes it: "N", "FILE"; empty for a flag
  std::vector<std::string> choices;  // the words that are accepted, if they are listed
  std::string range;                 // "1 to 4096"; empty if there are no bounds
  std::string text, preset, group, variable;
  value_kind kind = value_kind::none;
  bool required = false, repeats = false;
};

struct command_facts {
  std::vector<std::string> path;  // {"index", "knn"}; empty for the program itself
  std::string text, group;
  std::vector<option_facts> options;
  std::vector<command_facts> commands;
  bool needs_command = false;  // it does nothing by itself

  std::string name() const;       // "index knn"
  std::string full_name() const;  // "kselect index knn"
  std::string page() const;       // "kselect-index-knn"
};

// The visible commands and options of `app`, which `path` leads to. Options keep their order.
command_facts facts_of(const CLI::App& app, std::vector<std::string> path = {});

// `command` and all commands below it.
std::vector<const command_facts*> all_commands(const command_facts& command);

// The subcommand that the words name. Throws error(failure::usage), with the nearest names.
const command_facts& find_command(const command_facts& program,
                                  const std::vector<std::string>& words);

// "; did you mean explain?", or nothing if no name is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// The program's name and its commands' path in front of the positions and the required options:
// "kselect select ROWS --k N [OPTIONS]".
std::string usage_line(const command_facts& command);

}  // namespace kselect::cli::help
