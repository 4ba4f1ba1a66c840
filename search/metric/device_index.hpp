#pragma once
// An index in a backend's memory, in the layout that its walk reads
// (search/metric/kernels/walks.cuh).

#include <optional>

#include "search/metric/device_memory.hpp"
#include "search/metric/kernels/walks.cuh"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

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
    if (rule_ == distribution_rule::elements) {
      floats_ = {place, std::span(table.distances)};
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

  index_kind kind_;
  distribution_rule rule_;
  walk_rule walk_;
  tolerance slack_;
  std::int64_t cluster_size_ = 0;      // 0: the clusters have a fixed radius
  std::optional<uploaded<M>> first_;   // objects; for clusters their members
  std::optional<uploaded<M>> second_;  // centres or pivots
  device_array<float> floats_;         // radii, or the table
  device_array<std::uint32_t> first_numbers_, second_numbers_;
  device_array<std::uint32_t> starts_;  // of clusters of a fixed radius
};

}  // namespace kselect::search::metric_space
