#pragma once
// Orders of an SSS-Index's objects and table for kernels (search/metric/device_pivots.hpp). A table
// has at least one pivot.

#include <cstdint>
#include <span>
#include <vector>

#include "search/metric/index.hpp"

namespace kselect::search::metric_space {

// All objects by their nearest pivot, then by the distance to it, and where those of each pivot
// begin, [pivots + 1].
struct pivot_cells {
  std::vector<std::int64_t> order, starts;
};
pivot_cells by_nearest_pivot(const pivot_table& table);

// The table [pivots][objects] with the objects in this order.
std::vector<float> in_order(const pivot_table& table, std::span<const std::int64_t> order);
// The table [objects][pivots].
std::vector<float> turned(const pivot_table& table);

}  // namespace kselect::search::metric_space
