#pragma once
// Why a command line was refused, in one line that says what to do.

#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"

namespace kselect::cli::help {

// The line for a command line that `app` refused with `problem`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem);

}  // namespace kselect::cli::help
