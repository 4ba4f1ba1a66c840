#pragma once
// A binary heap of at most `capacity` entries that keeps the least of those offered: Barrientos
// 2011, Alg. 5, insercion_heap. The root is the greatest entry kept. It is in a register, so that
// one compare rejects most entries.

#include "kselect/hd.hpp"

namespace kselect::heap_reduction {

// Slots: an array of `entry`, used as slots[j] and slots.put(j, e), j < capacity
// (algorithms/queues/slots.cuh). A parent is no less than its children, slots 2j + 1 and 2j + 2.
template <class Slots>
class bounded_heap {
 public:
  using entry = typename Slots::entry;

  KSELECT_HD bounded_heap(Slots slots, int capacity) : slots_(slots), capacity_(capacity) {}

  KSELECT_HD int size() const { return size_; }
  KSELECT_HD bool full() const { return size_ == capacity_; }
  KSELECT_HD entry root() const { return root_; }  // the greatest; undefined for an empty heap
  KSELECT_HD void clear() { size_ = 0; }

  // Returns whether `e` is kept.
  KSELECT_HD bool offer(entry e) {
    if (!full()) {
      push(e);
      return true;
    }
    if (!(e < root_)) return false;
    replace_root(e);
    return true;
  }

  // Leaves the entries in ascending order in slots 0 to size() - 1, and the heap empty.
  KSELECT_HD int sort() {
    const int sorted = size_;
    while (size_ > 1) {
      const entry greatest = root_;
      const entry last = slots_[--size_];
      replace_root(last);
      slots_.put(size_, greatest);
    }
    size_ = 0;
    return sorted;
  }

 private:
  KSELECT_HD void push(entry e) {
    int hole = size_++;
    while (hole > 0) {
      const int parent = (hole - 1) / 2;
      const entry above = slots_[parent];
      if (!(above < e)) break;
      slots_.put(hole, above);
      hole = parent;
    }
    if (hole == 0) root_ = e;
    slots_.put(hole, e);
  }

  // The thesis' popush: the root leaves, and `e` sinks from its place.
  KSELECT_HD void replace_root(entry e) {
    int hole = 0;
    for (int child = 1; child < size_; child = 2 * hole + 1) {
      const entry left = slots_[child];
      entry larger = left;
      int place = child;
      if (child + 1 < size_) {
        const entry right = slots_[child + 1];
        if (left < right) {
          larger = right;
          place = child + 1;
        }
      }
      if (!(e < larger)) break;
      if (hole == 0) root_ = larger;
      slots_.put(hole, larger);
      hole = place;
    }
    if (hole == 0) root_ = e;
    slots_.put(hole, e);
  }

  Slots slots_;
  entry root_{};
  int capacity_;
  int size_ = 0;
};

}  // namespace kselect::heap_reduction
