#pragma once
// Expands the axes of a sweep into its list of problems. combinations.hpp goes through them one by
// one instead, which sweeps that do not fit into memory need.

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/workload/workload.hpp"

namespace kselect::harness {

// The size of a dataset, after dataset_input::limit, or of a file of rows. It is the meaning of
// "all", and the limit of n and q. With exclude_self the longest row is one element shorter.
struct dataset_sizes {
  std::int64_t base = 0;     // of a file of rows: its columns
  std::int64_t queries = 0;  // with `self` the base vectors, so equal to base; the file's rows
  std::optional<dtype> type = std::nullopt;  // of a file of rows: the only type it has
};

// The problems of the sweep, each once. The order is that of nested loops, from the outermost:
// dtype, distribution, layout, n, q (q, n if n is derived), direction, payload, index, k. Each axis
// keeps the order of the config. So problems on the same rows are neighbours.
//
// All have the config's seed, so equal (n, q, dtype, distribution) always means equal rows,
// whatever else the sweep holds. A payload without indices ignores the index axis and has the
// default index type, so it gives one problem.
//
// A combination that violates a constraint or matches an exclusion is left out. Every other one
// must be possible: k <= n unless n or q is 0; n and q within the dataset; q <= n + 1 with
// exclude_self; the type of a file's rows. Throws error(failure::usage) if one is not, if an
// exclusion matches no combination, if nothing is left, or if `dataset` is given exactly if the
// rows are generated.
std::vector<workload> expand(const sweep_config& config,
                             std::optional<dataset_sizes> dataset = std::nullopt);

// Throws error(failure::usage) if nothing is left of a sweep.
void require_some(const sweep_config& config, std::int64_t combinations);

}  // namespace kselect::harness
