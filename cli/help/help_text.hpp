#pragma once
// The text of `kselect help` and `--help`.

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/help/command_tree.hpp"

namespace kselect::cli::help {

// At most 80 columns wide, apart from examples, which stay in one line.
std::string help_text(const command_facts& command);

// The headings of a command's options, in the order in which help prints them.
std::vector<std::string> groups_of(const command_facts& command);

// "auto, cpu; default auto": what help and man pages say of an option after its text. Words that
// the text has are not repeated.
std::string conditions(const option_facts& option);
// "ROWS or --input FILE".
std::string spelling(const option_facts& option);

// The page `kselect help exit-codes`: a line a code.
std::string exit_code_page();

// Has CLI11 print help_text(). Subcommands that are added later inherit it.
std::shared_ptr<CLI::FormatterBase> formatter();

}  // namespace kselect::cli::help
