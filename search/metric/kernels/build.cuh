#pragma once
// Builds the indexes on an executor: Barrientos 2011, Alg. 3 and 1. The thesis builds them on the
// CPU; the result here is bit for bit that of cpu/build.hpp.
//
// A List of Clusters of a fixed size takes three launches a cluster, without decisions of the host
// in between (kernels/build_within.cuh builds one of a fixed radius):
//
//   measure    every block finds the next centre (the free object with the greatest sum of
//              distances to all earlier centres), measures its share of the free objects against
//              it, adds to their sums, and reduces its share to the nearest ones by heaps
//   close      one block reduces these to the nearest of all: the cluster's members
//   farthest   every block finds the free object with the greatest sum in its share

#include "algorithms/heap_reduction/block_heaps.cuh"
#include "search/metric/kernels/walks.cuh"

namespace kselect::search::metric_space {

// An object that may become a centre, with the sum of its distances to all centres.
struct candidate_centre {
  double sum;
  std::uint32_t object;

  // By greater sum, then by smaller number.
  KSELECT_HD bool before(const candidate_centre& other) const {
    return sum > other.sum || (sum == other.sum && object < other.object);
  }
};
inline constexpr std::uint32_t no_object = 0xffffffffU;
inline constexpr candidate_centre no_centre = {-1, no_object};
inline constexpr int free_object = -1;  // in no cluster yet

// The best of `count` candidates, from number `first` on. For one thread.
template <class Simt>
KSELECT_HD candidate_centre best_candidate(Simt& simt,
                                           const simt::global<candidate_centre>& candidates,
                                           std::int64_t first, int count) {
  candidate_centre best = no_centre;
  for (int b = 0; b < count; ++b) {
    const candidate_centre other = simt.load(candidates, first + b);
    if (other.before(best)) best = other;
  }
  return best;
}

// Writes the best candidate of a block's threads. `shared`: one place for each thread.
template <class Simt>
KSELECT_HD void write_best(Simt& simt, candidate_centre* shared, candidate_centre own,
                           const simt::global<candidate_centre>& candidates, std::int64_t to) {
  shared[simt.thread()] = own;
  simt.sync_block();
  if (simt.thread() != 0) return;
  for (int t = 1; t < simt.threads(); ++t) {
    if (shared[t].before(own)) own = shared[t];
  }
  simt.store(candidates, to, own);
}

template <class M>
struct build_memory {
  typename M::view objects;
  int cluster_size;
  simt::global<int> owner;                    // [n]: cluster, or free_object
  simt::global<double> sums;                  // [n]
  simt::global<candidate_centre> candidates;  // [blocks]
  simt::global<entry> heaps;                  // [blocks][threads][cluster size]
  simt::global<entry> nearest;                // [blocks][cluster size]
  simt::global<int> nearest_count;            // [blocks]
  simt::global<std::uint32_t> centres;        // [clusters]
  simt::global<float> radii;                  // [clusters]
  simt::global<std::uint32_t> members;        // [n]
};

template <class M>
struct measure_kernel {
  struct storage {
    heap_reduction::reduction_storage reduction;
    std::uint32_t centre;
  };
  struct args {
    build_memory<M> memory;
    int cluster;                // the centre of the first is object 0
    std::size_t staged_offset;  // in dynamic shared memory, behind the heaps
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const build_memory<M>& m = a.memory;
    if (simt.thread() == 0) choose(simt, shared, a);
    simt.sync_block();
    const std::int64_t centre = shared.centre;
    auto* const start = static_cast<unsigned char*>(simt.dynamic_shared());
    void* const staged = start + a.staged_offset;
    M::stage(simt, m.objects, centre, staged);
    simt.sync_block();
    heap_reduction::block_heaps<Simt, entry> heaps(simt, shared.reduction, m.heaps,
                                                   static_cast<entry*>(simt.dynamic_shared()),
                                                   m.cluster_size, m.cluster_size);
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < m.objects.count; i += stride) {
      if (i == centre || simt.load(m.owner, i) != free_object) continue;
      const float d = measure<M>(simt, m.objects, i, staged);
      simt.store(m.sums, i, simt.load(m.sums, i) + double{d});
      heaps.offer(make_entry(d, i));
    }
    const int found = heaps.reduce();
    const std::int64_t first = std::int64_t{simt.block()} * m.cluster_size;
    for (int j = simt.thread(); j < found; j += simt.threads()) {
      simt.store(m.nearest, first + j, heaps.best(j));
    }
    if (simt.thread() == 0) simt.store(m.nearest_count, simt.block(), found);
  }

 private:
  template <class Simt>
  KSELECT_HD static void choose(Simt& simt, storage& shared, const args& a) {
    const std::uint32_t centre =
        a.cluster == 0 ? 0 : best_candidate(simt, a.memory.candidates, 0, simt.blocks()).object;
    shared.centre = centre;
    if (simt.block() == 0) simt.store(a.memory.centres, a.cluster, centre);
  }
};

template <class M>
struct close_kernel {
  struct storage {
    heap_reduction::reduction_storage reduction;
  };
  struct args {
    build_memory<M> memory;
    int cluster;
    int blocks;  // of measure_kernel
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const build_memory<M>& m = a.memory;
    heap_reduction::block_heaps<Simt, entry> heaps(simt, shared.reduction, m.heaps,
                                                   static_cast<entry*>(simt.dynamic_shared()),
                                                   m.cluster_size, m.cluster_size);
    for (int b = 0; b < a.blocks; ++b) {
      const int count = simt.load(m.nearest_count, b);
      for (int j = simt.thread(); j < count; j += simt.threads()) {
        heaps.offer(simt.load(m.nearest, std::int64_t{b} * m.cluster_size + j));
      }
    }
    const int found = heaps.reduce();
    const std::int64_t first = std::int64_t{a.cluster} * m.cluster_size;
    for (int j = simt.thread(); j < found; j += simt.threads()) {
      const auto object = static_cast<std::uint32_t>(object_of(heaps.best(j)));
      simt.store(m.members, first + j, object);
      simt.store(m.owner, object, a.cluster);
    }
    if (simt.thread() != 0) return;
    simt.store(m.owner, simt.load(m.centres, a.cluster), a.cluster);
    simt.store(m.radii, a.cluster, found == 0 ? 0.0F : distance_of(heaps.best(found - 1)));
  }
};

template <class M>
struct farthest_kernel {
  struct storage {
    candidate_centre best[simt::thread_limit];
  };
  struct args {
    build_memory<M> memory;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const build_memory<M>& m = a.memory;
    candidate_centre best = no_centre;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < m.objects.count; i += stride) {
      if (simt.load(m.owner, i) != free_object) continue;
      const candidate_centre own = {simt.load(m.sums, i), static_cast<std::uint32_t>(i)};
      if (own.before(best)) best = own;
    }
    write_best(simt, shared.best, best, m.candidates, simt.block());
  }
};

// Computes one row of an SSS-Index's table: the distances of all objects to a pivot. Also finds the
// next pivot (Alg. 1): the first object that is at least `separation` away from all pivots so far
// and equal to none.
template <class M>
struct pivot_kernel {
  struct storage {};
  struct args {
    typename M::view objects;
    std::int64_t pivot;
    float separation;
    simt::global<float> row;           // [n]
    simt::global<float> nearest;       // [n]: to the pivots so far; +infinity at first
    simt::global<std::uint32_t> next;  // [1], no_object before
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    void* const staged = simt.dynamic_shared();
    M::stage(simt, a.objects, a.pivot, staged);
    simt.sync_block();
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < a.objects.count; i += stride) {
      const float d = measure<M>(simt, a.objects, i, staged);
      simt.store(a.row, i, d);
      const float before = simt.load(a.nearest, i);
      const float nearest = d < before ? d : before;
      simt.store(a.nearest, i, nearest);
      if (i > a.pivot && nearest >= a.separation && nearest > 0) {
        simt.atomic_min(a.next, 0, static_cast<std::uint32_t>(i));
      }
    }
  }
};

}  // namespace kselect::search::metric_space
