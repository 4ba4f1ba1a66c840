#pragma once
// Scripts that complete this program's commands, options and values in a shell.

#include <string>

#include "cli/help/command_tree.hpp"

namespace kselect::cli::help {

std::string bash_completion(const command_facts& program);
std::string zsh_completion(const command_facts& program);
std::string fish_completion(const command_facts& program);

// The names of this program's algorithms, with a space between them.
std::string algorithm_names();
// The names of the stock configs, with a space between them.
std::string config_names();
// The text within single quotes, as a POSIX shell reads it.
std::string quoted(const std::string& text);

}  // namespace kselect::cli::help
