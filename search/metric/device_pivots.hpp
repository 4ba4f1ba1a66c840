#pragma once
// An SSS-Index in a backend's memory. Objects and table are there once, in the order that the
// distribution of work reads (search/metric/kernels/walks.cuh):
//
//   elements  objects by number, table [pivots][objects]
//   pivots    objects by number, table [objects][pivots]
//   groups    objects by their nearest pivot, table [pivots][objects] in that order, and beside
//   them
//             for each pivot some objects near it, from which a query gets its first radius.
//             Queries that no group takes are searched by elements, in the same order.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/metric/device_memory.hpp"
#include "search/metric/index_bytes.hpp"
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
  bool in_groups() const { return near_.has_value(); }
  // Each pivot as the centre of the objects near it. A query may read one such cluster alone, since
  // they overlap.
  typename cluster_walk<M>::args near() const {
    return {.centres = pivots_.view,
            .members = near_->view,
            .radii = {},
            .centre_numbers = {},
            .member_numbers = {},
            .slack = slack_,
            .clusters = static_cast<int>(pivots_.view.count),
            .of = {static_cast<int>(near_size()), {}}};
  }
  // Objects near each pivot, without it.
  std::int64_t near_size() const { return near_->view.count / pivots_.view.count; }

 private:
  void upload_by_pivot(backend& place, const typename M::set& objects, const pivot_table& table) {
    const auto [order, starts] = by_nearest_pivot(table);
    objects_.emplace(place, objects.gather(order));
    table_ = {place, std::span<const float>(in_order(table, order))};
    numbers_ = numbers_on(place, order);
    cells_ = numbers_on(place, starts);
    const std::int64_t near = objects_near_a_pivot(objects.count(), table.count());
    if (near > 0) near_.emplace(place, objects.gather(nearest_to_pivots(table, near)));
  }

  tolerance slack_;
  uploaded<M> pivots_;
  std::optional<uploaded<M>> objects_, near_;
  device_array<float> table_;
  device_array<std::uint32_t> numbers_, cells_;  // as in pivot_args; of groups alone
};

}  // namespace kselect::search::metric_space
