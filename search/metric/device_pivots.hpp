#pragma once
// An SSS-Index in a backend's memory. Objects and table are there once, in the order that the
// distribution of work reads (search/metric/kernels/walks.cuh):
//
//   elements  objects by number, table [pivots][objects]
//   pivots    objects by number, table [objects][pivots]
//   groups    objects by their nearest pivot, table [pivots][objects] in that order. Queries that
//             no group takes are searched by elements, in the same order.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/metric/device_memory.hpp"
#include "search/metric/kernels/near_objects.cuh"
#include "search/metric/kernels/walks.cuh"
#include "search/metric/pivot_orders.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

template <metric M>
class device_pivots {
 public:
  device_pivots(backend& place, const typename M::set& objects, const pivot_table& table,
                distribution_rule rule)
      : slack_(M::tolerance_of(objects)), pivots_(place, objects.gather(table.pivots)) {
    if (rule == distribution_rule::groups) {
      upload_by_pivot(place, objects, table);
      return;
    }
    objects_.emplace(place, objects);
    if (rule == distribution_rule::pivots) {
      table_ = {place, std::span<const float>(turned(table))};
    } else {
      table_ = {place, std::span(table.distances)};
    }
  }

  pivot_args<M> walk() const {
    return {.objects = objects_->view,
            .pivots = pivots_.view,
            .table = table_.view(),
            .slack = slack_,
            .count = static_cast<int>(pivots_.view.count),
            .numbers = numbers_.view(),
            .cells = cells_.view()};
  }

  // Whether it can be searched by groups.
  bool in_groups() const { return cells_.view().size > 0; }
  // Each pivot as the centre of the objects that have it as their nearest.
  near_objects<M> near() const {
    return {.centres = pivots_.view,
            .members = objects_->view,
            .of = {0, cells_.view()},
            .clusters = static_cast<int>(pivots_.view.count),
            .away = table_.view()};
  }

 private:
  void upload_by_pivot(backend& place, const typename M::set& objects, const pivot_table& table) {
    const auto [order, starts] = by_nearest_pivot(table);
    objects_.emplace(place, objects.gather(order));
    table_ = {place, std::span<const float>(in_order(table, order))};
    numbers_ = numbers_on(place, order);
    cells_ = numbers_on(place, starts);
  }

  tolerance slack_;
  uploaded<M> pivots_;
  std::optional<uploaded<M>> objects_;
  device_array<float> table_;
  device_array<std::uint32_t> numbers_, cells_;  // as in pivot_args; of groups alone
};

}  // namespace kselect::search::metric_space
