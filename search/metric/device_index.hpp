#pragma once
// An index in a backend's memory, in the layout that its walk reads
// (search/metric/kernels/walks.cuh).

#include <algorithm>
#include <limits>
#include <optional>

#include "search/metric/device_memory.hpp"
#include "search/metric/kernels/walks.cuh"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// For each pivot the `count` nearest other objects, at most all of them, in any order.
std::vector<std::int64_t> nearest_to_pivots(const pivot_table& table, std::int64_t count);
// All objects by their nearest pivot, then by the distance to it, and where those of each pivot
// begin, [pivots + 1].
struct pivot_cells {
  std::vector<std::int64_t> order, starts;
};
pivot_cells by_nearest_pivot(const pivot_table& table);

template <metric M>
class device_index {
 public:
  device_index(backend& place, const typename M::set& objects, const index_data& index,
               distribution_rule rule, walk_rule walk)
      : kind_(index.kind), rule_(rule), walk_(walk), slack_(M::tolerance_of(objects)) {
    if (kind_ == index_kind::list_of_clusters) {
      upload(place, objects, index.clusters);
    } else {
      first_.emplace(place, objects);
      if (kind_ == index_kind::sss) upload(place, objects, index.pivots);
    }
  }

  // Calls f.template operator()<Walk>(args) with the walk of this index.
  template <class F>
  decltype(auto) visit(F&& f) const {
    switch (kind_) {
      case index_kind::list_of_clusters:
        if (walk_ != walk_rule::members) {
          return f.template operator()<listed_cluster_walk<M>>(clusters());
        }
        return f.template operator()<cluster_walk<M>>(clusters());
      case index_kind::sss:
        if (rule_ == distribution_rule::pivots) {
          return f.template operator()<pivot_walk<M>>(pivots());
        }
        return f.template operator()<element_walk<M>>(pivots());
      default:
        return f.template operator()<exhaustive_walk<M>>(
            typename exhaustive_walk<M>::args{first_->view});
    }
  }

  // Whether queries are searched by groups.
  bool in_groups() const {
    return kind_ == index_kind::list_of_clusters ? walk_ == walk_rule::groups : near_.has_value();
  }
  // Calls f(near, walk, most_near) with what a group_search takes.
  template <class F>
  decltype(auto) visit_groups(F&& f) const {
    if (kind_ == index_kind::list_of_clusters) {
      return f(clusters(), clusters(), std::numeric_limits<std::int64_t>::max());
    }
    pivot_args<M> walk = pivots();
    walk.objects = by_pivot_->view;
    walk.table = sorted_table_.view();
    walk.numbers = first_numbers_.view();
    walk.cells = starts_.view();
    return f(around_pivots(), walk, near_size_ + 1);
  }

  typename cluster_walk<M>::args clusters() const {
    return {.centres = second_->view,
            .members = first_->view,
            .radii = floats_.view(),
            .centre_numbers = second_numbers_.view(),
            .member_numbers = first_numbers_.view(),
            .slack = slack_,
            .clusters = static_cast<int>(second_->view.count),
            .of = {static_cast<int>(cluster_size_), starts_.view()}};
  }

 private:
  pivot_args<M> pivots() const {
    return {.objects = first_->view,
            .pivots = second_->view,
            .table = floats_.view(),
            .slack = slack_,
            .count = static_cast<int>(second_->view.count)};
  }

  // Each pivot as the centre of the objects nearest to it. They overlap, so a query reads but one.
  typename cluster_walk<M>::args around_pivots() const {
    return {.centres = second_->view,
            .members = near_->view,
            .radii = {},
            .centre_numbers = {},
            .member_numbers = {},
            .slack = slack_,
            .clusters = static_cast<int>(second_->view.count),
            .of = {static_cast<int>(near_size_), {}}};
  }

  void upload(backend& place, const typename M::set& objects, const cluster_list& list) {
    cluster_size_ = list.cluster_size;
    first_.emplace(place, objects.gather(list.members));
    second_.emplace(place, objects.gather(list.centres));
    floats_ = {place, std::span(list.radii)};
    first_numbers_ = {place, std::span<const std::uint32_t>(narrowed(list.members))};
    second_numbers_ = {place, std::span<const std::uint32_t>(narrowed(list.centres))};
    if (!list.has_fixed_size()) {
      starts_ = {place, std::span<const std::uint32_t>(narrowed(list.starts))};
    }
  }

  void upload(backend& place, const typename M::set& objects, const pivot_table& table) {
    second_.emplace(place, objects.gather(table.pivots));
    if (rule_ != distribution_rule::pivots) {
      floats_ = {place, std::span(table.distances)};
      if (rule_ == distribution_rule::groups) upload_near(place, objects, table);
      return;
    }
    const auto n = static_cast<std::size_t>(objects.count());
    const std::size_t pivots = table.pivots.size();
    std::vector<float> turned(table.distances.size());  // [objects][pivots]
    for (std::size_t p = 0; p < pivots; ++p) {
      for (std::size_t i = 0; i < n; ++i) turned[i * pivots + p] = table.distances[p * n + i];
    }
    floats_ = {place, std::span<const float>(turned)};
  }

  // As many objects near each pivot as give a good radius, but not much more than there are.
  void upload_near(backend& place, const typename M::set& objects, const pivot_table& table) {
    const std::int64_t n = objects.count(), pivots = table.count();
    constexpr std::int64_t fewest = 255, most = 511;
    near_size_ =
        std::min(n - 1, std::clamp(2 * n / std::max<std::int64_t>(pivots, 1), fewest, most));
    if (near_size_ < 1 || pivots == 0) return;
    near_.emplace(place, objects.gather(nearest_to_pivots(table, near_size_)));
    const auto [order, starts] = by_nearest_pivot(table);
    starts_ = {place, std::span<const std::uint32_t>(narrowed(starts))};
    by_pivot_.emplace(place, objects.gather(order));
    first_numbers_ = {place, std::span<const std::uint32_t>(narrowed(order))};
    std::vector<float> sorted(table.distances.size());
    for (std::int64_t p = 0; p < pivots; ++p) {
      for (std::int64_t i = 0; i < n; ++i) {
        sorted[static_cast<std::size_t>(p * n + i)] =
            table.distances[static_cast<std::size_t>(p * n + order[static_cast<std::size_t>(i)])];
      }
    }
    sorted_table_ = {place, std::span<const float>(sorted)};
  }

  index_kind kind_;
  distribution_rule rule_;
  walk_rule walk_;
  tolerance slack_;
  std::int64_t cluster_size_ = 0;              // 0: the clusters have a fixed radius
  std::optional<uploaded<M>> first_;           // objects; for clusters their members
  std::optional<uploaded<M>> second_;          // centres or pivots
  std::optional<uploaded<M>> near_;            // objects near each pivot, without it
  std::int64_t near_size_ = 0;                 // of each pivot
  std::optional<uploaded<M>> by_pivot_;        // all objects again, in by_nearest_pivot's order
  device_array<float> floats_, sorted_table_;  // radii, or the table; the table in that order
  device_array<std::uint32_t> first_numbers_, second_numbers_;
  device_array<std::uint32_t> starts_;  // of clusters of a fixed radius, or of pivots' objects
};

}  // namespace kselect::search::metric_space
