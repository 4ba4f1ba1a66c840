#pragma once
// A cell of the task `index`: its settings, read, and what is known of it before it runs.

#include <cstddef>
#include <string>

#include "harness/plan/plan.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// What is found: the k nearest, or all objects within a radius.
struct wanted {
  std::int64_t k;
  double radius, share;  // both 0: the k nearest
  bool is_range() const { return radius > 0 || share > 0; }
};
wanted wanted_of(const cell& c);

const space& space_of_cell(const cell& c);
search_options options_of(const cell& c);

// Why no search answers the cell; empty if one may.
std::string why_not(const cell& c);
// Bytes of its objects with their index, of queries and answers. How many pivots a rule selects,
// and how many clusters a radius makes, is not known before: then they count as one.
std::size_t bytes_of(const cell& c);

}  // namespace kselect::search::metric_space
