#pragma once
// The task of cells that are single calls of `kselect knn`. It is `knn` with the settings that only
// a call has: ranks, bounds on memory, the scope of the proof.

#include <string>

#include "harness/plan/plan.hpp"
#include "search/knn/knn.hpp"
#include "search/search.hpp"

namespace kselect::search {

// A cell of vectors from files, without its sizes and settings.
cell knn_call_cell(const registered& entry, executor_kind executor);

// The value of the axis `queries`.
inline std::string queries_text(bool self, bool exclude_self) {
  return !self ? "separate" : exclude_self ? "graph" : "graph with self";
}

// How an answer was proven.
std::string proof_text(knn_product product, proof_scope asked);

}  // namespace kselect::search
