#pragma once
// A fused search within a bound on its memory. A batch's lists, first scores and rounded queries
// grow with its number of queries. So a small memory means short batches. They are slower and give
// the same answers. The caller holds the queries and the answers themselves.

#include <array>
#include <cstdint>
#include <string_view>

#include "search/knn/fused/plan.hpp"

namespace kselect::search::fused {

// What selects thresholds from first scores, and neighbours from float64 distances: the first that
// supports it.
inline constexpr std::array<std::string_view, 1> rankers = {"auto"};
inline constexpr std::array<std::string_view, 2> settled = {"bms-block+stable", "bms-grid+stable"};

// The pass that does queries again whose thresholds are certain to be low enough, and the room for
// each.
inline constexpr finish_room room_again = {.survivors = 4096, .measured = 2048};
pass_plan plan_again(std::int64_t n, std::int64_t rows, const device& place, product_body body);

// How many queries have their float64 distances from n vectors held at once.
std::int64_t float64_rows(const search_plan& plan, std::int64_t n);

// The most bytes that a search holds by this plan, at the time when queries are done again.
std::int64_t search_bytes(const search_plan& plan, const search_shape& shape, const device& place);

// The same for the shortest batches.
std::int64_t least_search_bytes(search_shape shape, const device& place);

// As plan_search, but with the longest batches that shape.bytes hold, if that is not 0. Throws
// error(failure::resources) if a batch of one tile needs more.
search_plan plan_within(const search_shape& shape, const device& place);

}  // namespace kselect::search::fused
