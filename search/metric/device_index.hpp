#pragma once
// An index in a backend's memory, and the kernels' walk that searches it
// (search/metric/kernels/walks.cuh).

#include <variant>

#include "search/metric/device_clusters.hpp"
#include "search/metric/device_memory.hpp"
#include "search/metric/device_pivots.hpp"
#include "search/metric/kernels/walks.cuh"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

template <metric M>
class device_index {
 public:
  device_index(backend& place, const typename M::set& objects, const index_data& index,
               distribution_rule rule, walk_rule walk)
      : rule_(rule), walk_(walk), held_(uploaded_to(place, objects, index, rule)) {}

  // Calls f.template operator()<Walk>(args) with the walk of this index.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (has_clusters()) {
      if (walk_ != walk_rule::members) {
        return f.template operator()<listed_cluster_walk<M>>(clusters());
      }
      return f.template operator()<cluster_walk<M>>(clusters());
    }
    if (const auto* const pivots = std::get_if<device_pivots<M>>(&held_)) {
      if (rule_ == distribution_rule::pivots) {
        return f.template operator()<pivot_walk<M>>(pivots->walk());
      }
      return f.template operator()<element_walk<M>>(pivots->walk());
    }
    return f.template operator()<exhaustive_walk<M>>(
        typename exhaustive_walk<M>::args{std::get<uploaded<M>>(held_).view});
  }

  // Whether queries are searched by groups.
  bool in_groups() const {
    if (has_clusters()) return walk_ == walk_rule::groups;
    const auto* const pivots = std::get_if<device_pivots<M>>(&held_);
    return pivots != nullptr && pivots->in_groups();
  }
  // If they are: calls f(near, walk) with what a group_search takes.
  template <class F>
  decltype(auto) visit_groups(F&& f) const {
    return std::visit(
        [&]<class Held>(const Held& held) {
          if constexpr (requires { held.near(); }) {
            return f(held.near(), held.walk());
          } else {
            return f(near_objects<M>{}, typename cluster_walk<M>::args{});
          }
        },
        held_);
  }

  bool has_clusters() const { return std::holds_alternative<device_clusters<M>>(held_); }
  // Of a List of Clusters.
  typename cluster_walk<M>::args clusters() const {
    return std::get<device_clusters<M>>(held_).walk();
  }

 private:
  using held = std::variant<uploaded<M>, device_clusters<M>, device_pivots<M>>;

  static held uploaded_to(backend& place, const typename M::set& objects, const index_data& index,
                          distribution_rule rule) {
    switch (index.kind) {
      case index_kind::list_of_clusters:
        return device_clusters<M>(place, objects, index.clusters);
      case index_kind::sss:
        return device_pivots<M>(place, objects, index.pivots, rule);
      default:
        return uploaded<M>(place, objects);
    }
  }

  distribution_rule rule_;
  walk_rule walk_;
  held held_;
};

}  // namespace kselect::search::metric_space
