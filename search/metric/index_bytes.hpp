#pragma once
// The memory of objects with their index, as kernels search it.

#include <cstdint>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// An index of `objects` objects, which take `object_bytes` each.
struct index_extent {
  index_kind kind = index_kind::none;
  distribution_rule distribution = distribution_rule::elements;
  std::int64_t objects = 0, object_bytes = 0;
  std::int64_t parts = 0;   // clusters or pivots
  bool has_starts = false;  // of clusters: their radius is fixed, not their size
};
// Bytes of an executor's memory (device_index.hpp).
std::int64_t index_bytes(const index_extent& of);

// How many distances of its queries to centres a search by groups keeps: all, or none if they are
// many.
std::int64_t distances_kept(std::int64_t queries, std::int64_t centres);
// Into how many bins it sorts the queries of a centre: pivots, or those of clusters.
std::int64_t bins_of_centre(index_kind kind, std::int64_t centres);
// Bytes that it takes beside the queries and the answers (device_groups.hpp).
std::int64_t group_bytes(index_kind kind, std::int64_t queries, std::int64_t centres);

}  // namespace kselect::search::metric_space
