#pragma once
// Quick multi-select: the team that works on a row, and its memory. A *team* is one warp, or all
// warps of a block. Each step is written once for both; a team of one warp synchronises within the
// warp.

#include <cstddef>
#include <cstdint>

#include "algorithms/quick_multi_select/state.cuh"
#include "kselect/algorithm.hpp"
#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::qms {

// Elements that a lane partitions at a time. A warp first reads four 32-wide segments, so that four
// loads are in flight.
inline constexpr int items = 4;
// Likewise in the form that keeps only the left side and stages nothing: 64 bytes.
template <class T>
inline constexpr int filter_items = 64 / sizeof(T);
inline constexpr int most_warps = 32;

// An element: a key, and its position in the row if indices are wanted. One store moves both.
template <class Key, bool indexed>
struct element {
  Key k;
  KSELECT_HD static constexpr element of(Key k, position) { return {k}; }
  KSELECT_HD constexpr position at() const { return 0; }
};
template <class Key>
struct alignas(2 * sizeof(Key)) element<Key, true> {
  Key k;
  Key from;  // as wide as the key, so that there is no unwritten padding
  KSELECT_HD static constexpr element of(Key k, position from) { return {k, from}; }
  KSELECT_HD constexpr position at() const { return static_cast<position>(from); }
};

// One row and its team's auxiliary arrays, each as long as the row.
template <class T, bool indexed>
struct row_view {
  using elements = simt::global<element<order_key_t<T>, indexed>>;

  simt::global<const T> input;
  elements auxiliary_0, auxiliary_1;
  direction wanted;
  std::int64_t row;

  // A selection, not an index: an array that is indexed at run time would be in local memory.
  KSELECT_HD elements auxiliary(array where) const {
    return where == array::auxiliary_0 ? auxiliary_0 : auxiliary_1;
  }
};

// The answer of a row.
template <class T>
struct output_view {
  simt::global<T> values;
  simt::global<std::int32_t> indices_32;  // one of the two, or neither
  simt::global<std::int64_t> indices_64;
  direction wanted;
};

// A team's static shared memory.
template <class Key>
struct team_storage {
  reference stack[stack_capacity<Key>];
  position lefts[2][most_warps];  // elements below the pivot, of each warp; two sets in turn
  Key pivot;
};

// Bytes of the stage in dynamic shared memory: a tile of elements to be partitioned, or the keys of
// a sample or of a rest to be ranked.
template <class Key, bool indexed>
KSELECT_HD constexpr std::size_t stage_bytes(int warps) {
  return static_cast<std::size_t>(warps * simt::warp_size * items) * sizeof(element<Key, indexed>);
}

template <class Simt, class T, bool indexed_, bool whole_block, int items_ = items>
class team {
 public:
  static constexpr int items = items_;  // of partition(); 1 in the first rung of the ladder
  using value = T;
  using key = order_key_t<T>;
  using element = qms::element<key, indexed_>;
  static constexpr bool indexed = indexed_;
  static constexpr bool one_warp = !whole_block;

  // `stage`: stage_bytes<key, indexed>(warps()) of shared memory.
  KSELECT_HD team(Simt& on, team_storage<key>& storage, void* stage, const row_view<T, indexed>& r)
      : simt(on), shared(storage), row(r), stage_(stage) {}

  KSELECT_HD int warp() const { return whole_block ? simt.warp() : 0; }
  KSELECT_HD int warps() const { return whole_block ? simt.warps() : 1; }
  KSELECT_HD int thread() const { return whole_block ? simt.thread() : simt.lane(); }
  KSELECT_HD int threads() const { return warps() * simt::warp_size; }
  KSELECT_HD void sync() {
    if constexpr (whole_block) {
      simt.sync_block();
    } else {
      simt.sync_warp(simt::full_mask);
    }
  }

  KSELECT_HD element* stage() const { return static_cast<element*>(stage_); }
  KSELECT_HD key* stage_of_keys() const { return static_cast<key*>(stage_); }

  KSELECT_HD key read_key(array from, position i) {
    return from == array::input ? selection_key(simt.load(row.input, i), row.wanted)
                                : simt.load(row.auxiliary(from), i).k;
  }
  KSELECT_HD element read(array from, position i) {
    return from == array::input ? element::of(selection_key(simt.load(row.input, i), row.wanted), i)
                                : simt.load(row.auxiliary(from), i);
  }

  Simt& simt;
  team_storage<key>& shared;
  const row_view<T, indexed>& row;

 private:
  void* stage_;
};

}  // namespace kselect::qms
