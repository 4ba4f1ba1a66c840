#pragma once
// The k-way merge of neighbour lists as a kernel: merge_lists (neighbour_lists.hpp) for lists that
// are in a GPU's memory.
//
// It merges by ranking. An element's place in the merged list is its place in its own list plus,
// for every other list, the number of elements there that come before it. A binary search finds
// this number (Satish, Harris & Garland, "Designing Efficient Sorting Algorithms for Manycore
// GPUs", IPDPS 2009, section 5; for two lists Shiloach & Vishkin 1981). Each element has a thread.
// There is no barrier and no shared memory, and each output is written once. L lists of k cost at
// most L k (L - 1) log2 k loads a query. A thread stops once its element cannot be among the first
// k, so the far ends of the lists cost little. This suits the few lists of the GPUs of one job; for
// many lists a tree of pairs would be better.
//
// Equal elements (only no_neighbour) are in the order of their lists.

#include <algorithm>
#include <cstdint>

#include "kselect/simt/launch.hpp"

namespace kselect::search {

// Row-major. Each list is sorted by distance, then by index.
struct merge_arguments {
  simt::global<const float> distances;       // [lists][queries][k]
  simt::global<const std::int64_t> indices;  // [lists][queries][k]
  simt::global<float> merged_distances;      // [queries][k]
  simt::global<std::int64_t> merged_indices;
  std::int64_t lists = 0, queries = 0, k = 0;
};

struct merge_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = merge_arguments;

  // The number of elements before (distance, index) in the list that begins at `begin`; with
  // `equal_before`, equal elements count too.
  template <class Simt>
  KSELECT_HD static std::int64_t count_before(Simt& simt, const args& a, std::int64_t begin,
                                              float distance, std::int64_t index,
                                              bool equal_before) {
    std::int64_t low = 0, high = a.k;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const float d = simt.load(a.distances, begin + middle);
      bool before = d < distance;
      if (d == distance) {
        const std::int64_t i = simt.load(a.indices, begin + middle);
        before = i < index || (i == index && equal_before);
      }
      if (before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t list_size = a.queries * a.k;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t element = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; element < a.lists * list_size; element += stride) {
      const std::int64_t own = element / list_size;
      const std::int64_t row = element % list_size / a.k * a.k;
      const float distance = simt.load(a.distances, element);
      const std::int64_t index = simt.load(a.indices, element);
      std::int64_t rank = element % a.k;
      for (std::int64_t other = 0; other < a.lists && rank < a.k; ++other) {
        if (other == own) continue;
        rank += count_before(simt, a, other * list_size + row, distance, index, other < own);
      }
      if (rank >= a.k) continue;
      simt.store(a.merged_distances, row + rank, distance);
      simt.store(a.merged_indices, row + rank, index);
    }
  }
};

// The grid of a launch: simt::launch<merge_kernel>(where, merge_grid(a), a). Not for empty lists.
inline simt::grid merge_grid(const merge_arguments& a) {
  constexpr std::int64_t threads = merge_kernel::max_threads;
  constexpr std::int64_t most_blocks = 1 << 16;  // enough for any GPU; the others stride
  const std::int64_t elements = a.lists * a.queries * a.k;
  return {.blocks = std::min((elements + threads - 1) / threads, most_blocks), .threads = threads};
}

}  // namespace kselect::search
