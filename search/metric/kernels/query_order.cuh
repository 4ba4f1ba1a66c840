#pragma once
// The order in which groups take queries: those of a bin together, which share a cluster
// (group_approach.cuh). On a GPU their order differs from run to run, and so does the work of a
// group. Answers do not.

#include "kernels/warp_sums.cuh"
#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

// Each block finds where every bin's queries begin, then places some of the queries. `M`: one
// kernel for each metric, because each one's kernels are compiled by themselves.
template <class M>
struct order_kernel {
  static constexpr int max_threads = 256;
  struct storage {
    std::uint32_t of_warp[simt::warp_size];
  };
  struct args {
    simt::global<const std::uint32_t> counts;  // [bins] queries of each
    simt::global<const std::uint32_t> bin_of;  // [Q] the query's bin
    simt::global<const std::uint32_t> ranks;   // [Q] its place among those of its bin
    simt::global<std::uint32_t> order;         // [Q] query numbers
  };
  static std::size_t shared_bytes(std::int64_t bins) {
    return static_cast<std::size_t>(bins) * sizeof(std::uint32_t);
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const begins = static_cast<std::uint32_t*>(simt.dynamic_shared());
    add_up(simt, shared, a.counts, begins);
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t q = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         q < a.bin_of.size; q += stride) {
      const std::uint32_t place = begins[simt.load(a.bin_of, q)] + simt.load(a.ranks, q);
      simt.store(a.order, place, static_cast<std::uint32_t>(q));
    }
  }

 private:
  // begins[b] = counts[0] + ... + counts[b - 1].
  template <class Simt>
  KSELECT_HD static void add_up(Simt& simt, storage& shared,
                                simt::global<const std::uint32_t> counts, std::uint32_t* begins) {
    std::uint32_t before = 0;
    for (std::int64_t base = 0; base < counts.size; base += simt.threads()) {
      const std::int64_t b = base + simt.thread();
      const std::uint32_t own = b < counts.size ? simt.load(counts, b) : 0;
      const std::uint32_t up_to = kernels::sum_up_to_lane(simt, own);
      if (simt.lane() == simt::warp_size - 1) shared.of_warp[simt.warp()] = up_to;
      simt.sync_block();
      std::uint32_t of_earlier_warps = 0, of_all = 0;
      for (int w = 0; w < simt.warps(); ++w) {
        if (w == simt.warp()) of_earlier_warps = of_all;
        of_all += shared.of_warp[w];
      }
      if (b < counts.size) begins[b] = before + of_earlier_warps + up_to - own;
      before += of_all;
      simt.sync_block();
    }
  }
};

}  // namespace kselect::search::metric_space
