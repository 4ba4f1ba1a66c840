#pragma once
// The objects near a query, of which an approach takes its sample (group_approach.cuh).

#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

// Of the numbers [first, last) of an array the first for which f holds. It holds for all after it.
template <class Simt, class F>
KSELECT_HD std::int64_t first_of(Simt& simt, simt::global<const float> numbers, std::int64_t first,
                                 std::int64_t last, const F& f) {
  while (first < last) {
    const std::int64_t between = (first + last) / 2;
    if (f(simt.load(numbers, between))) {
      last = between;
    } else {
      first = between + 1;
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
  KSELECT_HD std::int64_t sample_of(Simt& simt, int c, std::int64_t wanted, float distance) const {
    const std::int64_t begin = of.first(simt, c, members.count);
    const std::int64_t end = of.first(simt, c + 1, members.count);
    if (!in_order() || wanted >= end - begin) return begin;
    const std::int64_t base = c * members.count;
    const auto is_as_far = [&](float d) { return d >= distance; };
    const std::int64_t middle = first_of(simt, away, base + begin, base + end, is_as_far) - base;
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
