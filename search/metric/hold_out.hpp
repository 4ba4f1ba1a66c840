#pragma once
// Part of a set as queries: Barrientos 2011 indexes 80 % of a database and queries the other 20 %.

#include <cstdint>
#include <vector>

namespace kselect::search::metric_space {

struct split {
  std::vector<std::int64_t> kept, held_out;  // ascending; together 0 .. count - 1
};

// Holds out `share` of the numbers 0 .. count - 1, rounded to the nearest count and chosen by the
// seed. Throws failure::usage unless 0 < share < 1 and both parts have an object.
split hold_out(std::int64_t count, double share, std::uint64_t seed);

}  // namespace kselect::search::metric_space
