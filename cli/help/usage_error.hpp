#pragma once
// Why a command line was refused, in one line that says what to do.

#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"

namespace kselect::cli::help {

// `app` after it failed to parse its arguments.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem);

}  // namespace kselect::cli::help
