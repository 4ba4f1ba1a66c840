#pragma once
// Why a command line was refused, in one line that says what to do.

#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"

namespace kselect::cli::help {

// The line for a command line that `app` refused with `problem`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem);

// The line for the first value of a parsed command line that no option can mean: an empty one, a
// number beyond 64 bits, or NaN. Empty if there is none.
std::string unusable_value(const CLI::App& app);

}  // namespace kselect::cli::help
