#pragma once
// Builds a List of Clusters of a fixed radius on an executor: Barrientos 2011, Sec. 2.1.3. One
// launch a cluster. Every block finds the next centre, measures its share of the free objects
// against it, takes those within the radius, and finds the best next centre among the others. The
// result is bit for bit that of cpu/build.hpp.

#include "search/metric/kernels/build.cuh"

namespace kselect::search::metric_space {

template <class M>
struct within_kernel {
  struct storage {
    candidate_centre best[simt::thread_limit];
    std::uint32_t centre;
  };
  struct args {
    typename M::view objects;
    float radius;
    int cluster;               // the centre of the first is object 0
    simt::global<int> owner;   // [n]: cluster, or free_object
    simt::global<float> away;  // [n]: from the centre of the object's cluster
    simt::global<double> sums;
    // [2][blocks]: a launch reads the half that the launch before has written.
    simt::global<candidate_centre> candidates;
    simt::global<std::uint32_t> centres;  // [n]; no_object once no object is free
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 0) choose(simt, shared, a);
    simt.sync_block();
    const std::uint32_t centre = shared.centre;
    candidate_centre best = no_centre;
    if (centre != no_object) {
      void* const staged = simt.dynamic_shared();
      M::stage(simt, a.objects, centre, staged);
      simt.sync_block();
      best = take(simt, a, centre, staged);
    }
    write_best(simt, shared.best, best, a.candidates,
               (a.cluster + 1) % 2 * std::int64_t{simt.blocks()} + simt.block());
  }

 private:
  template <class Simt>
  KSELECT_HD static void choose(Simt& simt, storage& shared, const args& a) {
    const std::int64_t half = a.cluster % 2 * std::int64_t{simt.blocks()};
    const std::uint32_t centre =
        a.cluster == 0 ? 0 : best_candidate(simt, a.candidates, half, simt.blocks()).object;
    shared.centre = centre;
    if (simt.block() == 0) simt.store(a.centres, a.cluster, centre);
  }

  // Takes the thread's objects within the radius. Returns the best next centre among the others.
  template <class Simt>
  KSELECT_HD static candidate_centre take(Simt& simt, const args& a, std::uint32_t centre,
                                          void* staged) {
    candidate_centre best = no_centre;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < a.objects.count; i += stride) {
      if (simt.load(a.owner, i) != free_object) continue;
      const bool is_centre = i == centre;
      const float d = is_centre ? 0.0F : measure<M>(simt, a.objects, i, staged);
      if (is_centre || d <= a.radius) {
        simt.store(a.owner, i, a.cluster);
        simt.store(a.away, i, d);
        continue;
      }
      const double sum = simt.load(a.sums, i) + double{d};
      simt.store(a.sums, i, sum);
      const candidate_centre own = {sum, static_cast<std::uint32_t>(i)};
      if (own.before(best)) best = own;
    }
    return best;
  }
};

}  // namespace kselect::search::metric_space
