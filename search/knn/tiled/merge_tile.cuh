#pragma once
// Kernels on the lists of one tile of queries that stay in the executor's memory while the corpus
// is searched tile by tile (running_lists.hpp).
//
// Two lists of a query merge by ranking, as in merge_kernel.cuh. They have lengths of their own,
// and the float64 number that ranks a neighbour decides (knn_block::ranked).

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::search {

// One sorted list a query, row-major: [queries][k]. An index of -1 fills a row.
struct tile_lists {
  simt::global<std::int64_t> indices;
  simt::global<float> distances;
  simt::global<double> exact;  // as ranked; +inf where the index is -1
  std::int64_t k = 0;
  std::int64_t offset = 0;  // is added to indices that are not -1
};

// Writes the first into.k of both lists of each query. into.k <= first.k + second.k; into.offset is
// not used.
struct merge_tile_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    tile_lists first, second, into;
    std::int64_t queries = 0;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t both = a.first.k + a.second.k;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t item = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; item < a.queries * both; item += stride) {
      const std::int64_t query = item / both, at = item % both;
      const bool in_second = at >= a.first.k;
      const tile_lists& own = in_second ? a.second : a.first;
      const tile_lists& other = in_second ? a.first : a.second;
      const std::int64_t place = in_second ? at - a.first.k : at;
      const std::int64_t from = query * own.k + place;
      const ranked_index x = read(simt, own, from);
      const std::int64_t rank = place + count_before(simt, other, query, x, in_second);
      if (rank >= a.into.k) continue;
      const std::int64_t to = query * a.into.k + rank;
      simt.store(a.into.indices, to, x.index == none ? -1 : x.index);
      simt.store(a.into.distances, to, simt.load(own.distances, from));
      simt.store(a.into.exact, to, from_order_key<double>(x.key));
    }
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();  // ordered last
  struct ranked_index {
    std::uint64_t key;  // orders distances
    std::int64_t index;
  };

  template <class Simt>
  KSELECT_HD static ranked_index read(Simt& simt, const tile_lists& lists, std::int64_t at) {
    const std::int64_t index = simt.load(lists.indices, at);
    const std::uint64_t key = order_key(simt.load(lists.exact, at));
    return {key, index < 0 ? none : index + lists.offset};
  }

  // The number of neighbours in the query's list that come before x; with `equal_before`, equal
  // ones count too.
  template <class Simt>
  KSELECT_HD static std::int64_t count_before(Simt& simt, const tile_lists& lists,
                                              std::int64_t query, const ranked_index& x,
                                              bool equal_before) {
    std::int64_t low = 0, high = lists.k;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const ranked_index y = read(simt, lists, query * lists.k + middle);
      const bool equal = y.key == x.key && y.index == x.index;
      const bool before = y.key != x.key ? y.key < x.key : y.index < x.index;
      if (before || (equal && equal_before)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

// How far the neighbour at one place of each list is, or a bound if that is nearer.
struct list_column_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<const double> exact;  // [queries][k]; no data: no list has that place
    std::int64_t k = 0, place = 0, queries = 0;
    simt::global<const double> bounds;  // [queries]; no data: there are none
    simt::global<double> column;        // [queries]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t query = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (query >= a.queries) return;
    double here = std::numeric_limits<double>::infinity();
    if (a.exact.data != nullptr) here = simt.load(a.exact, query * a.k + a.place);
    if (a.bounds.data != nullptr) {
      const double bound = simt.load(a.bounds, query);
      here = bound < here ? bound : here;
    }
    simt.store(a.column, query, here);
  }
};

}  // namespace kselect::search
