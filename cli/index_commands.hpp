#pragma once
// What the files of `kselect index` share.

#include <string>

#include "cli/commands.hpp"

namespace kselect::cli {

void add_index_knn(CLI::App& group, action& chosen);
void add_index_range(CLI::App& group, action& chosen);

// As require_executor, for searches, which run everywhere.
executor_kind index_executor(const std::string& name);

}  // namespace kselect::cli
