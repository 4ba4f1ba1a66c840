#pragma once
// Shared by the files of `kselect index`.

#include <string>

#include "cli/commands.hpp"
#include "search/metric/index_file.hpp"

namespace kselect::cli {

void add_index_knn(CLI::App& group, action& chosen);
void add_index_range(CLI::App& group, action& chosen);

// Like require_executor, for searches, which run on every executor.
executor_kind index_executor(const std::string& name);

// "300 vectors", "1 word".
std::string objects_text(const metric_space::indexed_objects& indexed);

}  // namespace kselect::cli
