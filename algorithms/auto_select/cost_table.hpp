#pragma once
// What each member of `auto` costs on one device, learned from a tuning run (`kselect tune`), and
// the time predicted from it.
//
// A member's predicted time is the product of
//   - a cost model: a sum of costs that are not negative, each for one kind of work (cost_terms): a
//     launch, the rows one after the other on a multiprocessor, the bytes of all of them. It holds
//     beyond what was measured.
//   - a correction: the exponential of a sum over the points measured, each weighing in as far as
//   it
//     reaches (kriging of the log residuals, by a kernel that ends; harness/tune/cost_fit.hpp).
//     It is 1 far from every point.
// Tables are data (algorithms/auto_select/*.json), compiled in by cmake/cost_tables.cmake. The
// program also takes one from a file (KSELECT_COST_TABLE, harness/tune/own_table.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kselect/problem.hpp"

namespace kselect {

inline constexpr std::size_t cost_term_count = 12;
inline constexpr std::size_t max_table_members = 32;

// log2 of n, Q and k, and twice that of an element's bytes: where corrections are interpolated.
using cost_point = std::array<double, 4>;

struct cost_table {
  std::string_view device;  // the model's name, as its driver says it: "NVIDIA H200"
  std::string_view source;  // what it was learned from
  int multiprocessors = 0;
  int compute_capability = 0;
  std::span<const std::string_view> members;
  std::span<const double> costs;  // [member][cost_term_count], nanoseconds a unit of each term
  std::span<const cost_point> points;
  cost_point reach{};                   // how far a point's correction reaches, along each axis
  std::span<const double> corrections;  // [point][member], weights
};

// The work that each cost is charged for, on a device with so many multiprocessors. A wave is as
// many rows as there are multiprocessors.
std::array<double, cost_term_count> cost_terms(const problem& p, int multiprocessors);
extern const std::array<std::string_view, cost_term_count> cost_term_names;

// The place of a problem among the points.
cost_point cost_point_of(const problem& p);

// How much a point weighs in at another: 1 at the point itself, 0 out of its reach.
double reaching(const cost_point& from, const cost_point& to, const cost_point& reach);

// Nanoseconds of each member of the table on the problem, whether or not it takes it; `times` has a
// place for each. For a device with another number of multiprocessors the times are those of as
// many rows on each of them: what a multiprocessor does is taken to cost the same, so that times of
// unlike devices rank members, but are rough. Allocates nothing; costs some nanoseconds a point.
void predict_times(const cost_table& table, const problem& p, int multiprocessors,
                   std::span<double> times);

// The tables compiled in, ordered by file.
std::span<const cost_table> cost_tables();

// The table whose device has that name, or null: the preferred one, else one compiled in.
const cost_table* find_cost_table(std::string_view device);

// Has `auto` go by this table on the device that it names, as if it were compiled in; null: none.
// The table is used as long as it is preferred. Not to be called while selections are chosen.
void prefer_cost_table(const cost_table* table);

}  // namespace kselect
