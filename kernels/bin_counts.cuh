#pragma once
// The common part of radix, bucket and randomized selection: counting into bins in shared memory,
// finding the bin of the k-th element, and the shape of launches in which blocks share a row.

#include <algorithm>
#include <cstdint>

#include "kernels/warp_sums.cuh"
#include "kselect/algorithm.hpp"
#include "kselect/simt/device_size.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::kernels {

template <int bits>
struct bin_storage {
  std::uint32_t counts[1 << bits];
  std::uint32_t warp_totals[32];
  std::uint32_t bin, before, count;  // the found bin; elements in smaller bins; elements in it
};

template <int bits, class Simt>
KSELECT_HD void clear_bins(Simt& simt, bin_storage<bits>& shared) {
  for (int bin = simt.thread(); bin < 1 << bits; bin += simt.threads()) shared.counts[bin] = 0;
}

// Finds the bin at which the counts reach `wanted`. Each thread adds up its neighbouring bins, the
// sums are scanned, and the thread whose bins reach `wanted` finds the bin.
template <int bits, class Simt>
KSELECT_HD void find_bin(Simt& simt, bin_storage<bits>& shared, std::uint32_t wanted) {
  constexpr int bins = 1 << bits;
  const int each = (bins + simt.threads() - 1) / simt.threads();
  const int first = simt.thread() * each;
  const int last = first + each < bins ? first + each : bins;
  std::uint32_t own = 0;
  for (int bin = first; bin < last; ++bin) own += shared.counts[bin];
  std::uint32_t up_to = sum_up_to_lane(simt, own);
  if (simt.lane() == simt::warp_size - 1) shared.warp_totals[simt.warp()] = up_to;
  simt.sync_block();
  for (int w = 0; w < simt.warp(); ++w) up_to += shared.warp_totals[w];
  std::uint32_t before = up_to - own;
  if (before < wanted && wanted <= up_to) {
    int found = first;
    while (before + shared.counts[found] < wanted) before += shared.counts[found++];
    shared.bin = static_cast<std::uint32_t>(found);
    shared.before = before;
    shared.count = shared.counts[found];
  }
  simt.sync_block();
}

// ---- several blocks a row

// Zeroes the counters that the blocks of a row share.
struct clear_kernel {
  struct storage {};
  struct args {
    simt::global<std::uint32_t> first, second;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    const std::int64_t start = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (std::int64_t i = start; i < a.first.size; i += stride) simt.store(a.first, i, 0);
    for (std::int64_t i = start; i < a.second.size; i += stride) simt.store(a.second, i, 0);
  }
};

// Blocks a row: enough to keep the device busy, as long as each block has enough work.
inline int parts_of(std::int64_t n, std::int64_t rows, int threads, const device& where) {
  const std::int64_t of_one = simt::busy_threads(where) / threads;
  const std::int64_t wanted = of_one * where.multiprocessors;
  const std::int64_t least = std::int64_t{16} * threads;  // elements a block
  const std::int64_t most = (n + least - 1) / least;
  return static_cast<int>(std::clamp<std::int64_t>((wanted + rows - 1) / rows, 1, most));
}

// Threads a block: `wanted`, or if that is 0, a default for the device.
inline int grid_threads(const device& where, int wanted) {
  return wanted != 0 ? wanted : simt::block_threads(where, 512);
}

// ---- payloads of entries that select from one row at a time

inline constexpr auto kth_alone = set_of(payload::kth_value);  // as published
inline constexpr auto k_smallest = set_of(payload::values, payload::values_and_indices);

}  // namespace kselect::kernels
