#include "search/metric/pivot_orders.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace kselect::search::metric_space {
namespace {

std::span<const float> row_of(const pivot_table& table, std::int64_t pivot) {
  const std::size_t n = table.distances.size() / table.pivots.size();
  return std::span(table.distances).subspan(static_cast<std::size_t>(pivot) * n, n);
}

// Where an object lies: at its nearest pivot, the first of several that are as near.
struct nearest_pivot_of_object {
  std::int64_t pivot = 0;
  float distance = std::numeric_limits<float>::infinity();
  auto operator<=>(const nearest_pivot_of_object&) const = default;
};

}  // namespace

pivot_cells by_nearest_pivot(const pivot_table& table) {
  std::vector<nearest_pivot_of_object> nearest(row_of(table, 0).size());
  for (std::int64_t p = 0; p < table.count(); ++p) {
    const auto row = row_of(table, p);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] < nearest[i].distance) nearest[i] = {p, row[i]};
    }
  }
  pivot_cells cells{.order = std::vector<std::int64_t>(nearest.size()),
                    .starts = std::vector<std::int64_t>(table.pivots.size() + 1)};
  std::iota(cells.order.begin(), cells.order.end(), std::int64_t{0});
  std::ranges::stable_sort(cells.order, std::ranges::less{},
                           [&](std::int64_t i) { return nearest[static_cast<std::size_t>(i)]; });
  for (const auto& of : nearest) ++cells.starts[static_cast<std::size_t>(of.pivot) + 1];
  std::partial_sum(cells.starts.begin(), cells.starts.end(), cells.starts.begin());
  return cells;
}

std::vector<float> in_order(const pivot_table& table, std::span<const std::int64_t> order) {
  std::vector<float> sorted;
  sorted.reserve(table.distances.size());
  for (std::int64_t p = 0; p < table.count(); ++p) {
    const auto row = row_of(table, p);
    for (const std::int64_t i : order) sorted.push_back(row[static_cast<std::size_t>(i)]);
  }
  return sorted;
}

std::vector<float> turned(const pivot_table& table) {
  const std::size_t pivots = table.pivots.size();
  std::vector<float> by_object(table.distances.size());
  for (std::size_t p = 0; p < pivots; ++p) {
    const auto row = row_of(table, static_cast<std::int64_t>(p));
    for (std::size_t i = 0; i < row.size(); ++i) by_object[i * pivots + p] = row[i];
  }
  return by_object;
}

}  // namespace kselect::search::metric_space
