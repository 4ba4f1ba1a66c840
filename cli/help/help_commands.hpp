#pragma once
// The commands that describe the others.

#include "cli/commands.hpp"

namespace kselect::cli {

// Adds help, version, completion and man. They read `app` when they run, so commands that are
// added later are in it.
void add_help(CLI::App& app, action& chosen);

}  // namespace kselect::cli
