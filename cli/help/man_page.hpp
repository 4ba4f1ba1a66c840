#pragma once
// A command's manual page, in roff's man macros.

#include <string>

#include "cli/help/command_tree.hpp"

namespace kselect::cli::help {

// Section 1. `program` is the whole tree, for the list of pages at the end.
std::string man_page(const command_facts& command, const command_facts& program);

}  // namespace kselect::cli::help
