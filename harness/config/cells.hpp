#pragma once
// From axes to the list of problems of a sweep.

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/workload/workload.hpp"

namespace kselect::harness {

// What a dataset holds, after dataset_input::limit. It is what "all" means and the most that n and
// q may be; with exclude_self the longest row is one shorter.
struct dataset_sizes {
  std::int64_t base = 0;
  std::int64_t queries = 0;  // with `self` the base vectors: == base
};

// The problems of the sweep, each once. Their order is fixed: nested loops over, from the
// outermost, dtype, distribution, layout, n, q (q, n where n is derived), direction, payload,
// index, k, each in the order of the config. So problems on the same rows are neighbours.
//
// Every one has the config's seed: the same (n, q, dtype, distribution) always means the same
// rows, whatever else the sweep holds. A payload without indices ignores the index axis and has the
// default type, so that it is one cell.
//
// A combination that violates a constraint or equals an exclusion is left out. What is left must be
// possible, else error(failure::usage): k <= n unless n or q is 0; n and q at most what the dataset
// holds; q <= n + 1 with exclude_self. An exclusion that matches no combination, and a sweep with
// nothing left, are errors too. `dataset` is required exactly for a dataset input.
std::vector<workload> expand(const sweep_config& config,
                             std::optional<dataset_sizes> dataset = std::nullopt);

}  // namespace kselect::harness
