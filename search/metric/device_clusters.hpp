#pragma once
// A List of Clusters in a backend's memory (search/metric/kernels/walks.cuh).

#include <span>

#include "search/metric/device_memory.hpp"
#include "search/metric/index.hpp"
#include "search/metric/kernels/near_objects.cuh"
#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

template <metric M>
class device_clusters {
 public:
  device_clusters(backend& place, const typename M::set& objects, const cluster_list& list)
      : slack_(M::tolerance_of(objects)),
        cluster_size_(static_cast<int>(list.cluster_size)),
        members_(place, objects.gather(list.members)),
        centres_(place, objects.gather(list.centres)),
        radii_(place, std::span(list.radii)),
        member_numbers_(numbers_on(place, list.members)),
        centre_numbers_(numbers_on(place, list.centres)) {
    if (!list.has_fixed_size()) starts_ = numbers_on(place, list.starts);
  }

  typename cluster_walk<M>::args walk() const {
    return {.centres = centres_.view,
            .members = members_.view,
            .radii = radii_.view(),
            .centre_numbers = centre_numbers_.view(),
            .member_numbers = member_numbers_.view(),
            .slack = slack_,
            .clusters = static_cast<int>(centres_.view.count),
            .of = {cluster_size_, starts_.view()}};
  }
  near_objects<M> near() const {
    return {.centres = centres_.view,
            .members = members_.view,
            .of = {cluster_size_, starts_.view()},
            .clusters = static_cast<int>(centres_.view.count)};
  }

 private:
  tolerance slack_;
  int cluster_size_;  // 0: the clusters have a fixed radius
  uploaded<M> members_, centres_;
  device_array<float> radii_;
  device_array<std::uint32_t> member_numbers_, centre_numbers_, starts_;
};

}  // namespace kselect::search::metric_space
