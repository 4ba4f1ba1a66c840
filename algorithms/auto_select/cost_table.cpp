// The time predicted from a cost table (cost_table.hpp). Called before each launch, so it allocates
// nothing.

#include "algorithms/auto_select/cost_table.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace kselect {

const std::array<std::string_view, cost_term_count> cost_term_names = {
    "launch",   "row",         "row cut", "row answer", "wave", "wave row",
    "wave cut", "wave answer", "rows",    "rows read",  "cut",  "answer"};

std::array<double, cost_term_count> cost_terms(const problem& p, int multiprocessors) {
  const auto k = static_cast<double>(p.k);
  // A row is charged for its bytes and for its answer's k elements. sqrt(n k) lies between the two:
  // it stands for candidates that pass filters.
  const double row = static_cast<double>(p.n) * static_cast<double>(size_of(p.type));
  const double cut = std::sqrt(static_cast<double>(p.n) * k);
  const double rows = static_cast<double>(p.q) / multiprocessors;
  const double waves = std::ceil(rows);
  return {1,           row,       cut,  k,          waves,      waves * row,
          waves * cut, waves * k, rows, rows * row, rows * cut, rows * k};
}

cost_point cost_point_of(const problem& p) {
  return {std::log2(static_cast<double>(p.n)), std::log2(static_cast<double>(p.q)),
          std::log2(static_cast<double>(p.k)), 2 * std::log2(static_cast<double>(size_of(p.type)))};
}

namespace {

// Wendland's function with compact support for up to 5 dimensions, with continuous derivatives
// (Wendland 1995). It needs no exponential, and points out of reach cost nothing. `scale`: one over
// the reach.
inline double weight_at(const cost_point& from, const cost_point& to, const cost_point& scale) {
  double squares = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const double apart = (from[axis] - to[axis]) * scale[axis];
    squares += apart * apart;
  }
  if (squares >= 1) return 0;
  const double distance = std::sqrt(squares);
  const double left = 1 - distance;
  return left * left * left * left * left * (5 * distance + 1);
}

cost_point scale_of(const cost_point& reach) {
  return {1 / reach[0], 1 / reach[1], 1 / reach[2], 1 / reach[3]};
}

}  // namespace

double reaching(const cost_point& from, const cost_point& to, const cost_point& reach) {
  return weight_at(from, to, scale_of(reach));
}

void predict_times(const cost_table& table, const problem& p, int multiprocessors,
                   std::span<double> times) {
  const std::size_t members = table.members.size();
  std::array<double, max_table_members> corrections{};
  cost_point here = cost_point_of(p);
  here[1] += std::log2(static_cast<double>(table.multiprocessors) / multiprocessors);
  const cost_point scale = scale_of(table.reach);
  for (std::size_t point = 0; point < table.points.size(); ++point) {
    const double weight = weight_at(table.points[point], here, scale);
    if (weight == 0) continue;
    const double* const of_point = table.corrections.data() + point * members;
    for (std::size_t m = 0; m < members; ++m) corrections[m] += weight * of_point[m];
  }
  const auto terms = cost_terms(p, multiprocessors);
  for (std::size_t m = 0; m < members; ++m) {
    const double* const costs = table.costs.data() + m * cost_term_count;
    double cost = 0;
    for (std::size_t i = 0; i < cost_term_count; ++i) cost += costs[i] * terms[i];
    times[m] = cost * std::exp(corrections[m]);
  }
}

namespace {

std::atomic<const cost_table*> preferred = nullptr;

}  // namespace

void prefer_cost_table(const cost_table* table) { preferred = table; }

const cost_table* find_cost_table(std::string_view device) {
  const cost_table* const first = preferred;
  if (first != nullptr && first->device == device) return first;
  const auto tables = cost_tables();
  const auto found =
      std::ranges::find_if(tables, [&](const cost_table& t) { return t.device == device; });
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace kselect
