#pragma once
// How a block finds the objects within a radius of its query: a walk for each index.
//
//   prepare   all threads: writes distances to centres or pivots to shared memory, before a barrier
//   visit     all threads: calls f(distance, object) in one thread for each object at most radius()
//             away, once. Objects that the index rules out are not measured. May use barriers.
//
// visit() calls `radius` for every object, so the radius may shrink during the walk.
//
// Deviation: the thesis compares distances as they are. Here a bound must be exceeded by `slack`,
// so that rounding rules out no answer.

#include "kselect/simt/counters.hpp"
#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

// Bytes of a part of dynamic shared memory. Each part begins at a multiple of 16.
constexpr std::size_t in_shared(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

// The block of a walk, with its query and its memory for distances.
template <class Simt>
struct ground {
  Simt& simt;
  void* staged;     // the query, shared
  float* measured;  // shared, as many floats as the walk asked for
};

template <class M, class Simt>
KSELECT_HD float measure(Simt& simt, const typename M::view& objects, std::int64_t i,
                         void* staged) {
  simt.count(simt::counter::distances);
  return M::distance(simt, objects, i, staged);
}

// No index: every distance is evaluated. Neighbouring threads take neighbouring objects.
template <class M>
struct exhaustive_walk {
  struct storage {};
  struct args {
    typename M::view objects;
  };
  static std::int64_t measured(const args&) { return 0; }

  template <class Simt>
  KSELECT_HD static void prepare(const ground<Simt>&, storage&, const args&) {}

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit(const ground<Simt>& g, storage&, const args& a, const Radius& radius,
                               const F& f) {
    for (std::int64_t i = g.simt.thread(); i < a.objects.count; i += g.simt.threads()) {
      const float d = measure<M>(g.simt, a.objects, i, g.staged);
      if (d <= radius()) f(d, i);
    }
  }
};

// The cluster of each member. A thread asks for ever larger members.
struct member_clusters {
  int size;                                  // of every cluster; 0: `starts` tells
  simt::global<const std::uint32_t> starts;  // [clusters + 1]

  // The first member of a cluster; of all clusters' number, the number of members.
  template <class Simt>
  KSELECT_HD std::int64_t first(Simt& simt, int cluster, std::int64_t members) const {
    if (size == 0) return simt.load(starts, cluster);
    const std::int64_t at = std::int64_t{cluster} * size;
    return at < members ? at : members;
  }

  // Moves `cluster` on to the cluster of member i. Returns whether i is its first member.
  template <class Simt>
  KSELECT_HD bool advance(Simt& simt, std::int64_t i, int& cluster) const {
    if (size > 0) {
      cluster = static_cast<int>(i / size);
      return i % size == 0;
    }
    while (simt.load(starts, cluster + 1) <= i) ++cluster;
    return simt.load(starts, cluster) == i;
  }
};

// List of Clusters: Barrientos 2011, Alg. 6, lines 13-15 and 19-38. Neighbouring threads take
// neighbouring members, so the threads of a warp are mostly in one cluster or two. The thesis'
// clusters have a fixed size; those of a fixed radius differ only in where they start.
//
// Deviation: the last cluster to be searched (the thesis' minC, lines 28-30) is found before the
// members are visited. Algorithm 6 finds it while it visits them. So here the searched clusters do
// not depend on the order of threads, and none is searched in vain. minC is found again for each
// radius. Algorithm 6 sets it to its first value only once, in line 4. That would miss answers: a
// larger ball need not be inside the same cluster.
template <class M>
struct cluster_walk {
  struct storage {
    int last;  // the first cluster that contains the query's ball: no later one has an answer
  };
  struct args {
    typename M::view centres, members;  // members as in cluster_list
    simt::global<const float> radii;
    simt::global<const std::uint32_t> centre_numbers, member_numbers;
    tolerance slack;
    int clusters;
    member_clusters of;
  };
  static std::int64_t measured(const args& a) { return a.clusters; }

  template <class Simt>
  KSELECT_HD static void prepare(const ground<Simt>& g, storage&, const args& a) {
    for (int c = g.simt.thread(); c < a.clusters; c += g.simt.threads()) {
      g.measured[c] = measure<M>(g.simt, a.centres, c, g.staged);
    }
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit(const ground<Simt>& g, storage& shared, const args& a,
                               const Radius& radius, const F& f) {
    visit_members(g, shared, a, radius, f);
    visit_centres(g, a, radius, f);
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit_centres(const ground<Simt>& g, const args& a, const Radius& radius,
                                       const F& f) {
    for (int c = g.simt.thread(); c < a.clusters; c += g.simt.threads()) {
      const float d = g.measured[c];
      if (d <= radius()) f(d, g.simt.load(a.centre_numbers, c));
    }
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit_members(const ground<Simt>& g, storage& shared, const args& a,
                                       const Radius& radius, const F& f) {
    Simt& simt = g.simt;
    find_last(g, shared, a, radius());
    const std::int64_t count = a.members.count;
    std::int64_t i = simt.thread();
    int c = 0;
    for (; i < count; i += simt.threads()) {
      const bool is_first = a.of.advance(simt, i, c);
      if (c > shared.last) break;
      if (separated(g.measured[c], simt.load(a.radii, c), radius(), a.slack)) {
        simt.count(simt::counter::pruned);
        continue;
      }
      if (is_first) simt.count(simt::counter::clusters);
      const float d = measure<M>(simt, a.members, i, g.staged);
      if (d <= radius()) f(d, simt.load(a.member_numbers, i));
    }
    if (i < count) {
      simt.count(simt::counter::pruned, (count - i + simt.threads() - 1) / simt.threads());
    }
  }

  template <class Simt>
  KSELECT_HD static void find_last(const ground<Simt>& g, storage& shared, const args& a,
                                   float radius) {
    if (g.simt.thread() == 0) shared.last = a.clusters;
    g.simt.sync_block();
    for (int c = g.simt.thread(); c < a.clusters; c += g.simt.threads()) {
      if (separated(g.simt.load(a.radii, c), g.measured[c], radius, a.slack)) {
        g.simt.atomic_min(shared.last, c);
      }
    }
    g.simt.sync_block();
  }
};

// List of Clusters, ours: a cluster that is ruled out costs one test, not one for each member. The
// threads first list the clusters to search, then each warp searches one after another, a lane a
// member. A warp's lanes are in one cluster, and none waits for another's pruned members.
//
// The radius must stay as it is during a visit.
template <class M>
struct listed_cluster_walk {
  struct storage {
    typename cluster_walk<M>::storage walk;
    int listed;
  };
  using args = typename cluster_walk<M>::args;
  // The distances to the centres, then the list.
  static std::int64_t measured(const args& a) { return 2 * std::int64_t{a.clusters}; }

  template <class Simt>
  KSELECT_HD static void prepare(const ground<Simt>& g, storage& shared, const args& a) {
    cluster_walk<M>::prepare(g, shared.walk, a);
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit(const ground<Simt>& g, storage& shared, const args& a,
                               const Radius& radius, const F& f) {
    Simt& simt = g.simt;
    auto* const list = reinterpret_cast<int*>(g.measured + a.clusters);
    if (simt.thread() == 0) shared.listed = 0;
    cluster_walk<M>::find_last(g, shared.walk, a, radius());  // with barriers
    for (int c = simt.thread(); c < a.clusters; c += simt.threads()) {
      const bool searched = c <= shared.walk.last &&
                            !separated(g.measured[c], simt.load(a.radii, c), radius(), a.slack);
      if (searched) {
        list[simt.atomic_add(shared.listed, 1)] = c;
      } else {
        simt.count(simt::counter::pruned, size_of(simt, a, c));
      }
    }
    simt.sync_block();
    for (int at = simt.warp(); at < shared.listed; at += simt.warps()) {
      search(g, a, list[at], radius(), f);
    }
    cluster_walk<M>::visit_centres(g, a, radius, f);
    simt.sync_block();  // the next visit writes the list
  }

 private:
  template <class Simt>
  KSELECT_HD static std::int64_t size_of(Simt& simt, const args& a, int c) {
    return a.of.first(simt, c + 1, a.members.count) - a.of.first(simt, c, a.members.count);
  }

  template <class Simt, class F>
  KSELECT_HD static void search(const ground<Simt>& g, const args& a, int c, float radius,
                                const F& f) {
    Simt& simt = g.simt;
    if (simt.lane() == 0) simt.count(simt::counter::clusters);
    const std::int64_t end = a.of.first(simt, c + 1, a.members.count);
    for (std::int64_t i = a.of.first(simt, c, a.members.count) + simt.lane(); i < end;
         i += simt::warp_size) {
      const float d = measure<M>(simt, a.members, i, g.staged);
      if (d <= radius) f(d, simt.load(a.member_numbers, i));
    }
  }
};

template <class M>
struct pivot_args {
  typename M::view objects, pivots;
  // Distances between pivots and objects: [pivots][objects] if threads take objects,
  // [objects][pivots] if they take pivots. So neighbouring threads read neighbours.
  simt::global<const float> table;
  tolerance slack;
  int count;  // pivots
  // If objects lie by their nearest pivot, then by the distance to it: the number of each, and
  // where those of each pivot begin, [count + 1]. Empty if they lie by number.
  simt::global<const std::uint32_t> numbers = {}, cells = {};

  // The number of the object at a place.
  template <class Simt>
  KSELECT_HD std::int64_t number(Simt& simt, std::int64_t place) const {
    return numbers.size == 0 ? place : std::int64_t{simt.load(numbers, place)};
  }
};

template <class M, class Simt>
KSELECT_HD void measure_pivots(const ground<Simt>& g, const pivot_args<M>& a) {
  for (int p = g.simt.thread(); p < a.count; p += g.simt.threads()) {
    g.measured[p] = measure<M>(g.simt, a.pivots, p, g.staged);
  }
}

KSELECT_HD inline bool apart(float a, float b, float radius, tolerance slack) {
  return separated(a, b, radius, slack) || separated(b, a, radius, slack);
}

// SSS-Index, element distribution: Barrientos 2011, Alg. 7, lines 10-12 and 16-30. A thread tests
// its object against all pivots and evaluates the distance if none rules the object out.
template <class M>
struct element_walk {
  struct storage {};
  using args = pivot_args<M>;
  static std::int64_t measured(const args& a) { return a.count; }

  template <class Simt>
  KSELECT_HD static void prepare(const ground<Simt>& g, storage&, const args& a) {
    measure_pivots(g, a);
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit(const ground<Simt>& g, storage&, const args& a, const Radius& radius,
                               const F& f) {
    const std::int64_t n = a.objects.count;
    for (std::int64_t i = g.simt.thread(); i < n; i += g.simt.threads()) {
      bool out = false;
      for (int p = 0; p < a.count && !out; ++p) {
        out = apart(g.measured[p], g.simt.load(a.table, p * n + i), radius(), a.slack);
      }
      if (out) {
        g.simt.count(simt::counter::pruned);
        continue;
      }
      const float d = measure<M>(g.simt, a.objects, i, g.staged);
      if (d <= radius()) f(d, a.number(g.simt, i));
    }
  }
};

// SSS-Index, pivot distribution: Barrientos 2011, Sec. 3.2.2 (the slower strategy of Table 3.1). A
// thread has one pivot, or every T-th one, and tests it on each of a few hundred objects. After a
// barrier the threads measure the objects that no thread has ruled out. The thesis does not say how
// many objects (its E) it takes at a time; here they are 512.
template <class M>
struct pivot_walk {
  static constexpr int at_a_time = 512;
  struct storage {
    int out[at_a_time];  // whether some thread has ruled the object out
  };
  using args = pivot_args<M>;
  static std::int64_t measured(const args& a) { return a.count; }

  template <class Simt>
  KSELECT_HD static void prepare(const ground<Simt>& g, storage&, const args& a) {
    measure_pivots(g, a);
  }

  template <class Simt, class Radius, class F>
  KSELECT_HD static void visit(const ground<Simt>& g, storage& shared, const args& a,
                               const Radius& radius, const F& f) {
    Simt& simt = g.simt;
    for (std::int64_t first = 0; first < a.objects.count; first += at_a_time) {
      const std::int64_t left = a.objects.count - first;
      const int size = left < at_a_time ? static_cast<int>(left) : at_a_time;
      for (int e = simt.thread(); e < size; e += simt.threads()) shared.out[e] = 0;
      simt.sync_block();
      for (int e = 0; e < size; ++e) {
        for (int p = simt.thread(); p < a.count; p += simt.threads()) {
          const float known = simt.load(a.table, (first + e) * a.count + p);
          // No race: all threads write the same value.
          if (apart(g.measured[p], known, radius(), a.slack)) shared.out[e] = 1;
        }
      }
      simt.sync_block();
      for (int e = simt.thread(); e < size; e += simt.threads()) {
        if (shared.out[e] != 0) {
          simt.count(simt::counter::pruned);
          continue;
        }
        const float d = measure<M>(simt, a.objects, first + e, g.staged);
        if (d <= radius()) f(d, first + e);
      }
      simt.sync_block();
    }
  }
};

}  // namespace kselect::search::metric_space
