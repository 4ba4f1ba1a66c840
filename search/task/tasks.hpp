#pragma once
// The searches as tasks of the harness (harness/task): their cells are planned, run, proven,
// recorded and compared as selections are.

#include "harness/task/task.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Exact k nearest neighbours of vectors (search/knn).
const task& knn_task();
// k-NN and range searches of metric spaces with an index (search/metric).
const task& index_task();

// Hash of the sources of search/knn. Generated (cmake/search.cmake).
std::string_view knn_source_hash();

// Makes all of them known to the harness. The program calls it once, when it starts.
void add_search_tasks();

}  // namespace kselect::search
