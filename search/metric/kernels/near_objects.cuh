#pragma once
// The objects near a query, of which an approach takes its sample (group_approach.cuh).

#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

// Of the numbers [first, last) of an ascending array the first that is at least `least`.
template <class Simt>
KSELECT_HD std::int64_t first_from(Simt& simt, simt::global<const float> ascending,
                                   std::int64_t first, std::int64_t last, float least) {
  while (first < last) {
    const std::int64_t between = (first + last) / 2;
    if (simt.load(ascending, between) < least) {
      first = between + 1;
    } else {
      last = between;
    }
  }
  return first;
}

// Clusters with centres. An object is in one of them.
template <class M>
struct near_objects {
  typename M::view centres, members;
  member_clusters of;
  int clusters;
  // [centres][members]: distances to the centre. Those of its own members ascend. Empty if members
  // lie in no such order; then centres are objects that are no members.
  simt::global<const float> away = {};

  KSELECT_HD bool in_order() const { return away.size > 0; }

  // Of cluster c the first of `wanted` members to look at for a query at this distance from its
  // centre: those at about the same distance.
  template <class Simt>
  KSELECT_HD std::int64_t first_of(Simt& simt, int c, std::int64_t wanted, float distance) const {
    const std::int64_t begin = of.first(simt, c, members.count);
    const std::int64_t end = of.first(simt, c + 1, members.count);
    if (!in_order() || wanted >= end - begin) return begin;
    const std::int64_t base = c * members.count;
    const std::int64_t middle = first_from(simt, away, base + begin, base + end, distance) - base;
    const std::int64_t first = middle - wanted / 2;
    if (first < begin) return begin;
    return first + wanted > end ? end - wanted : first;
  }

  // In which of `bins` parts of cluster c, by the distance from its centre, a query lies.
  template <class Simt>
  KSELECT_HD int bin_of(Simt& simt, int c, int bins, float distance) const {
    const std::int64_t end = of.first(simt, c + 1, members.count);
    if (bins == 1 || end == of.first(simt, c, members.count)) return 0;
    const float reach = simt.load(away, c * members.count + end - 1);
    const float place = distance / reach * static_cast<float>(bins);
    return place < static_cast<float>(bins) ? static_cast<int>(place) : bins - 1;  // and if NaN
  }
};

}  // namespace kselect::search::metric_space
