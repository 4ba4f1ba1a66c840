#pragma once
// Shared by the files of `kselect index`.

#include <string>

#include "cli/commands.hpp"

namespace kselect::cli {

void add_index_knn(CLI::App& group, action& chosen);
void add_index_range(CLI::App& group, action& chosen);

// Like require_executor, for searches, which run on every executor.
executor_kind index_executor(const std::string& name);

}  // namespace kselect::cli
