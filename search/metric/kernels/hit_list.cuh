#pragma once
// Hits of range searches, of all queries together and in any order.

#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

struct hit_list {
  simt::global<std::uint32_t> queries;
  simt::global<std::uint32_t> ranks;  // how many hits of its query were found before a hit
  simt::global<entry> entries;
  simt::global<std::uint32_t> of_query;  // [Q] hits of each, 0 before
  simt::global<std::uint64_t> count;     // [1] of all, 0 before

  // One thread adds a hit of query(). A hit without room is counted, but not kept.
  template <class Simt, class Query>
  KSELECT_HD void add(Simt& simt, const Query& query, float distance, std::int64_t object) const {
    const auto place = static_cast<std::int64_t>(simt.atomic_add(count, 0, 1));
    if (place >= entries.size) return;
    const auto q = static_cast<std::uint32_t>(query());
    simt.store(queries, place, q);
    simt.store(ranks, place, simt.atomic_add(of_query, q, 1));
    simt.store(entries, place, make_entry(distance, object));
  }
};

}  // namespace kselect::search::metric_space
