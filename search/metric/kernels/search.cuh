#pragma once
// Searches, one block a query: Barrientos 2011, Sec. 3.1.2 and 3.2.
//
// Algorithms 6 (List of Clusters) and 7 (SSS-Index) have five stages between barriers:
//
//   stage                                 Alg. 6        Alg. 7        here
//   1  copy the query to shared memory    lines 7-9     lines 4-6     approach: M::stage
//   2  distances to centres or pivots     lines 13-15   lines 10-12   approach: Walk::prepare
//   3  objects within the radius          lines 19-38   lines 16-30   Walk::visit, heaps.offer
//   4  heaps of the first warp            line 41       line 34       heaps.reduce
//   5  the first K; is another turn due?  lines 44-48   lines 38-42   heaps.reduce, knn_kernel
//
// The thesis' names: distC and dist_piv are `measured`, rango is `radius`, minC is `last`, and
// insercion_heap is `offer`. evalua_condicion is the end of knn_kernel::enlarge.
//
// Deviations, beside those of walks.cuh and block_heaps.cuh:
//  - The thesis launches a block for each query. Here a fixed number of blocks takes the queries in
//    turn, so that the heaps in global memory do not grow with their number.
//  - A member enters a heap if its distance is at most the radius. Algorithm 6 asks for less in
//    line 23, and for at most in line 34 and in Algorithm 7.
//  - The thesis trains the first radius and the step on 1 % of the objects, and does not say how.
//    train_radius (space.hpp) takes percentiles: 40 % of the training queries need a second turn.
//  - From the fifth turn on the step doubles (knn_kernel).
//  - A decreasing radius begins with the distance of the k-th nearest centre. The thesis begins
//    with infinity and shrinks it after the centres are measured, which it does not detail.

#include "algorithms/heap_reduction/block_heaps.cuh"
#include "search/metric/kernels/hit_list.cuh"
#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

// Dynamic shared memory: the reduction's heaps, the walk's measured distances, the query.
struct shared_layout {
  std::size_t measured, staged, bytes;  // two offsets, and the size of all

  static shared_layout of(std::int64_t k, std::int64_t measured_floats, std::size_t staged_bytes) {
    const std::size_t lists = in_shared(heap_reduction::shared_heap_bytes<entry>(k));
    const std::size_t staged =
        lists + in_shared(static_cast<std::size_t>(measured_floats) * sizeof(float));
    return {lists, staged, staged + in_shared(staged_bytes)};
  }
};

template <class Simt>
KSELECT_HD ground<Simt> ground_of(Simt& simt, const shared_layout& layout) {
  auto* const start = static_cast<unsigned char*>(simt.dynamic_shared());
  return {simt, start + layout.staged, reinterpret_cast<float*>(start + layout.measured)};
}

// Stages query q and prepares the walk for it.
template <class M, class Walk, class Simt>
KSELECT_HD void approach(const ground<Simt>& g, typename Walk::storage& shared,
                         const typename M::view& queries, const typename Walk::args& walk,
                         std::int64_t q) {
  M::stage(g.simt, queries, q, g.staged);
  g.simt.sync_block();
  Walk::prepare(g, shared, walk);
  g.simt.sync_block();
}

// The k nearest objects of each query, and where they go.
template <class M>
struct knn_job {
  typename M::view queries;
  shared_layout layout;
  simt::global<entry> heaps;
  int k;
  simt::global<std::int64_t> objects;  // [Q][k], nearest first, ties by number
  simt::global<float> distances;       // [Q][k]
};

template <class M, class Simt>
KSELECT_HD heap_reduction::block_heaps<Simt, entry> heaps_of(
    Simt& simt, heap_reduction::reduction_storage& shared, const knn_job<M>& job) {
  return {simt, shared, job.heaps, static_cast<entry*>(simt.dynamic_shared()), job.k, job.k};
}

template <class M, class Simt, class Heaps>
KSELECT_HD void write_nearest(Simt& simt, const knn_job<M>& job, std::int64_t q,
                              const Heaps& heaps) {
  for (int j = simt.thread(); j < job.k; j += simt.threads()) {
    const entry e = heaps.best(j);
    simt.store(job.objects, q * job.k + j, object_of(e));
    simt.store(job.distances, q * job.k + j, distance_of(e));
  }
}

// k-NN by increasing radius: Barrientos 2011, Alg. 6 and 7. A turn finds all objects within a
// radius; if these are fewer than k, the next turn searches within a larger radius. Queries need
// different numbers of turns, so there are two launches. The first makes one turn and queues the
// queries that need more; the second finishes those. With an infinite radius this is exhaustive
// search in one launch, fused with the evaluation of distances.
//
// From the fifth turn on the step doubles each time, so that a query far from all objects needs a
// few more turns, not thousands.
template <class M, class Walk>
struct knn_kernel {
  struct storage {
    heap_reduction::reduction_storage reduction;
    typename Walk::storage walk;
  };
  struct args {
    knn_job<M> job;
    typename Walk::args walk;
    std::int64_t count;                         // of queries to answer
    float radius, step;                         // of the first turn; the increase with each turn
    bool last;                                  // the second launch: finishes the pending queries
    simt::global<std::uint32_t> pending;        // [Q]
    simt::global<std::uint32_t> pending_count;  // [1], 0 before the first launch
  };
  static constexpr int steady_turns = 4;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const ground<Simt> g = ground_of(simt, a.job.layout);
    auto heaps = heaps_of(simt, shared.reduction, a.job);
    for (std::int64_t n = simt.block(); n < a.count; n += simt.blocks()) {
      const std::int64_t q = a.last ? std::int64_t{simt.load(a.pending, n)} : n;
      approach<M, Walk>(g, shared.walk, a.job.queries, a.walk, q);
      if (enlarge(g, shared, a, heaps)) {
        write_nearest(simt, a.job, q, heaps);
      } else if (simt.thread() == 0) {
        const std::uint32_t place = simt.atomic_add(a.pending_count, 0, 1);
        simt.store(a.pending, place, static_cast<std::uint32_t>(q));
      }
      simt.sync_block();
    }
  }

 private:
  // Makes one turn, or in the second launch all. Returns whether k objects have been found.
  template <class Simt, class Heaps>
  KSELECT_HD static bool enlarge(const ground<Simt>& g, storage& shared, const args& a,
                                 Heaps& heaps) {
    float radius = a.radius, step = a.step;
    for (int turn = 1;; ++turn) {
      heaps.clear();
      Walk::visit(
          g, shared.walk, a.walk, [&] { return radius; },
          [&](float d, std::int64_t i) { heaps.offer(make_entry(d, i)); });
      const bool enough = heaps.reduce() == a.job.k;
      if (enough || !a.last) return enough;
      radius += step;
      if (turn >= steady_turns) step *= 2;
    }
  }
};

// k-NN by decreasing radius on a List of Clusters: Barrientos 2011, Sec. 3.2.1. The radius starts
// with the distance of the k-th nearest centre, if there are k centres. It shrinks whenever a
// thread's heap is full and its root gets nearer. Threads share the radius but not their heaps, so
// it shrinks slowly.
template <class M>
struct shrinking_kernel {
  using walk_of = cluster_walk<M>;
  struct storage {
    heap_reduction::reduction_storage reduction;
    typename walk_of::storage walk;
    std::uint32_t radius;  // as an order key, for atomic_min
  };
  struct args {
    knn_job<M> job;
    typename walk_of::args walk;
    std::int64_t count;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const ground<Simt> g = ground_of(simt, a.job.layout);
    auto heaps = heaps_of(simt, shared.reduction, a.job);
    for (std::int64_t q = simt.block(); q < a.count; q += simt.blocks()) {
      approach<M, walk_of>(g, shared.walk, a.job.queries, a.walk, q);
      heaps.clear();
      begin(g, shared, a, heaps);
      walk_of::visit_members(
          g, shared.walk, a.walk,
          // An atomic that changes nothing reads the radius as other threads have written it.
          [&] { return from_order_key<float>(simt.atomic_min(shared.radius, ~0U)); },
          [&](float d, std::int64_t i) {
            heaps.offer(make_entry(d, i));
            if (heaps.full()) simt.atomic_min(shared.radius, order_key(distance_of(heaps.root())));
          });
      heaps.reduce();
      write_nearest(simt, a.job, q, heaps);
      simt.sync_block();
    }
  }

 private:
  template <class Simt, class Heaps>
  KSELECT_HD static void begin(const ground<Simt>& g, storage& shared, const args& a,
                               Heaps& heaps) {
    const float unbounded = from_order_key<float>(0xff800000U);  // +infinity
    walk_of::visit_centres(
        g, a.walk, [&] { return unbounded; },
        [&](float d, std::int64_t i) { heaps.offer(make_entry(d, i)); });
    const int centres = heaps.reduce();
    if (g.simt.thread() == 0) {
      const float first = centres == a.job.k ? distance_of(heaps.best(a.job.k - 1)) : unbounded;
      shared.radius = order_key(first);
    }
    g.simt.sync_block();
  }
};

// All objects within a radius of each query, in any order: Barrientos 2011, Alg. 4 and 2, one block
// a query.
template <class M, class Walk>
struct range_kernel {
  struct storage {
    typename Walk::storage walk;
  };
  struct args {
    typename M::view queries;
    shared_layout layout;
    typename Walk::args walk;
    std::int64_t count;
    float radius;
    hit_list hits;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const ground<Simt> g = ground_of(simt, a.layout);
    for (std::int64_t q = simt.block(); q < a.count; q += simt.blocks()) {
      approach<M, Walk>(g, shared.walk, a.queries, a.walk, q);
      Walk::visit(
          g, shared.walk, a.walk, [&] { return a.radius; },
          [&](float d, std::int64_t i) {
            a.hits.add(
                simt, [&] { return q; }, d, i);
          });
      simt.sync_block();
    }
  }
};

}  // namespace kselect::search::metric_space
