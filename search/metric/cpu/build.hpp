#pragma once
// Builds the indexes on the host. Threads share the distances. The result does not depend on their
// number.

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/job_watch.hpp"
#include "search/metric/index.hpp"
#include "search/metric/metric.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

// So many objects are indexed. Throws the watch's error if the build shall end.
inline void tell(job_watch* watch, std::int64_t indexed) {
  if (watch == nullptr) return;
  watch->reached(indexed);
  watch->end_if_stopping();
}

// List of Clusters: Barrientos 2011, Alg. 3, with a loop for its recursion. The first centre is
// object 0. Each further centre is the free object with the greatest sum of distances to all
// earlier centres. (The text says that the choice takes "the complete collection of elements" into
// account. Algorithm 3 chooses from the objects that are in no cluster yet, and so does this.)
// take(entries) moves a new cluster's members to the front of `entries` and returns their number.
template <metric M, class Take>
cluster_list cluster_all(const typename M::set& objects, int threads, job_watch* watch,
                         const Take& take) {
  const std::int64_t n = objects.count();
  cluster_list list;
  std::vector<std::int64_t> left(static_cast<std::size_t>(n));
  std::iota(left.begin(), left.end(), 0);
  std::vector<double> sums(static_cast<std::size_t>(n));  // of the distances to all centres
  std::vector<entry> entries;
  while (!left.empty()) {
    const auto sum_of = [&](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; };
    const auto chosen = std::ranges::max_element(left, std::ranges::less{}, sum_of);
    const std::int64_t centre = *chosen;
    left.erase(chosen);
    const auto ready = M::prepare(objects, centre);
    entries.resize(left.size());
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t at = 0; at < left.size(); ++at) {
      const std::int64_t i = left[at];
      const float d = M::distance(objects, i, ready);
      sums[static_cast<std::size_t>(i)] += static_cast<double>(d);
      entries[at] = make_entry(d, i);
    }
    const std::int64_t size = take(entries);
    const auto end = entries.begin() + size;
    std::sort(entries.begin(), end);
    list.centres.push_back(centre);
    list.radii.push_back(size == 0 ? 0 : distance_of(end[-1]));
    for (auto e = entries.begin(); e != end; ++e) list.members.push_back(object_of(*e));
    list.starts.push_back(static_cast<std::int64_t>(list.members.size()));
    std::vector<std::int64_t> taken(list.members.end() - size, list.members.end());
    std::ranges::sort(taken);
    std::erase_if(left, [&](std::int64_t i) { return std::ranges::binary_search(taken, i); });
    tell(watch, n - static_cast<std::int64_t>(left.size()));
  }
  return list;
}

// Clusters of a fixed size. Takes n^2 / (2 cluster_size) distances.
template <metric M>
cluster_list build_clusters(const typename M::set& objects, std::int64_t cluster_size, int threads,
                            job_watch* watch) {
  const auto nearest = [&](std::vector<entry>& entries) {
    const auto size = std::min(cluster_size, static_cast<std::int64_t>(entries.size()));
    const auto end = entries.begin() + size;
    if (end != entries.end()) std::nth_element(entries.begin(), end, entries.end());
    return size;
  };
  cluster_list list = cluster_all<M>(objects, threads, watch, nearest);
  list.cluster_size = cluster_size;
  list.starts.clear();
  return list;
}

// Clusters of a fixed radius. Takes n distances for each cluster, less the objects in earlier ones.
template <metric M>
cluster_list build_clusters_within(const typename M::set& objects, float radius, int threads,
                                   job_watch* watch) {
  const auto inside = [&](std::vector<entry>& entries) {
    const auto end = std::partition(entries.begin(), entries.end(),
                                    [&](entry e) { return distance_of(e) <= radius; });
    return end - entries.begin();
  };
  cluster_list list = cluster_all<M>(objects, threads, watch, inside);
  list.covering_radius = radius;
  list.radii.assign(list.centres.size(), radius);
  list.starts.insert(list.starts.begin(), 0);
  return list;
}

// Writes the distances of all objects to object `from`.
template <metric M>
void measure_all(const typename M::set& objects, std::int64_t from, float* out, int threads) {
  const auto ready = M::prepare(objects, from);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < objects.count(); ++i) out[i] = M::distance(objects, i, ready);
}

// Estimates the greatest distance between two objects: goes from object 0 to the object furthest
// from it, from there to the furthest, and so on, at most eight times, while the distance grows.
// The result is at least half of the greatest distance.
template <metric M>
float estimate_diameter(const typename M::set& objects, int threads) {
  constexpr int most_steps = 8;
  std::vector<float> row(static_cast<std::size_t>(objects.count()));
  float greatest = 0;
  std::int64_t from = 0;
  for (int step = 0; step < most_steps && objects.count() > 0; ++step) {
    measure_all<M>(objects, from, row.data(), threads);
    const auto furthest = std::ranges::max_element(row);
    if (!(*furthest > greatest)) break;
    greatest = *furthest;
    from = furthest - row.begin();
  }
  return greatest;
}

// More pivots help no search: each costs a distance for every query.
inline constexpr std::int64_t most_pivots = 4096;

// Throws failure::usage if there are too many.
void require_few_pivots(std::int64_t pivots, double alpha);

// Throws failure::usage if fewer pivots were selected than the rule takes.
void require_as_many_pivots(std::int64_t pivots, const pivot_rule& rule);

inline pivot_table table_for(const pivot_rule& rule) {
  return {.alpha = rule.alpha,
          .diameter = rule.diameter,
          .most = rule.most,
          .pivots = {},
          .distances = {}};
}

// The separation that pivots must have: M alpha.
inline float separation_of(float diameter, double alpha) {
  return static_cast<float>(static_cast<double>(diameter) * alpha);
}

// SSS-Index: Barrientos 2011, Alg. 1. An object becomes a pivot if it is at least M alpha away from
// all earlier pivots (line 6) and, our addition, different from them. A new pivot's row of the
// table also determines the next pivot. The rule's diameter, M, is not 0 unless all objects are
// equal.
template <metric M>
pivot_table build_pivots(const typename M::set& objects, const pivot_rule& rule, int threads,
                         job_watch* watch) {
  const std::int64_t n = objects.count();
  pivot_table table = table_for(rule);
  const float separation = separation_of(rule.diameter, rule.alpha);
  std::vector<float> nearest(static_cast<std::size_t>(n), std::numeric_limits<float>::infinity());
  for (std::int64_t pivot = 0; pivot < n;) {
    table.pivots.push_back(pivot);
    require_few_pivots(table.count(), rule.alpha);
    table.distances.resize(static_cast<std::size_t>(table.count() * n));
    float* const row = table.distances.data() + (table.count() - 1) * n;
    measure_all<M>(objects, pivot, row, threads);
    if (table.count() == rule.most) break;
    for (std::int64_t i = 0; i < n; ++i) {
      float& least = nearest[static_cast<std::size_t>(i)];
      least = std::min(least, row[i]);
    }
    const auto qualifies = [&](std::int64_t i) {
      const float least = nearest[static_cast<std::size_t>(i)];
      return least >= separation && least > 0;
    };
    do {
      ++pivot;
    } while (pivot < n && !qualifies(pivot));
    tell(watch, pivot);
  }
  require_as_many_pivots(table.count(), rule);
  return table;
}

}  // namespace kselect::search::metric_space
