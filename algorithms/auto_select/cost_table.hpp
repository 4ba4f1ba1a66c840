#pragma once
// What each member of `auto` costs on one device, learned from a tuning run (`kselect tune`), and
// the time predicted from it.
//
// A member's predicted time is the product of
//   - a cost model: a sum of nonnegative costs, each for one kind of work (cost_terms), such as a
//     launch, or the rows that a multiprocessor takes one after the other, or the bytes of all
//     rows. It extrapolates beyond the measured points.
//   - a correction: the exponential of a weighted sum over the measured points within reach. It is
//     kriging of the log residuals, by a kernel of compact support (harness/tune/cost_fit.hpp). Far
//     from every point it is 1.
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
  std::string_view device;  // the model's name, as the driver gives it: "NVIDIA H200"
  std::string_view source;  // what it was learned from
  int multiprocessors = 0;
  int compute_capability = 0;
  std::span<const std::string_view> members;
  std::span<const double> costs;  // [member][cost_term_count], nanoseconds a unit of each term
  std::span<const cost_point> points;
  cost_point reach{};                   // how far a point's correction reaches, along each axis
  std::span<const double> corrections;  // [point][member], weights
};

// The amount of each kind of work that a problem takes on a device with `multiprocessors`. A wave
// is one row on each multiprocessor.
std::array<double, cost_term_count> cost_terms(const problem& p, int multiprocessors);
extern const std::array<std::string_view, cost_term_count> cost_term_names;

cost_point cost_point_of(const problem& p);

// The weight of point `from` at `to`: 1 at `from` itself, 0 out of its reach.
double reaching(const cost_point& from, const cost_point& to, const cost_point& reach);

// Writes the predicted nanoseconds of each member of the table to `times` ([members]), whether or
// not it takes the problem. A device with another number of multiprocessors is taken to have the
// table's multiprocessors, only more or fewer of them. For unlike devices the times are therefore
// rough, but still rank members. Allocates nothing. Takes some nanoseconds a point.
void predict_times(const cost_table& table, const problem& p, int multiprocessors,
                   std::span<double> times);

// The tables compiled in, ordered by file.
std::span<const cost_table> cost_tables();

// The table whose device has that name: the preferred one, or else one compiled in. Null: none.
const cost_table* find_cost_table(std::string_view device);

// Has `auto` use this table on the device that it names, as if it were compiled in; null: none. The
// table must live as long as it is preferred. Not to be called while selections are chosen.
void prefer_cost_table(const cost_table* table);

}  // namespace kselect
