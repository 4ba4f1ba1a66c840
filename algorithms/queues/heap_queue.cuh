#pragma once
// Heap queue (Tang et al. 2015, Sec. III-B): a binary heap in k slots. A parent is no smaller than
// its children, so the head is the largest. An insertion replaces the head and sinks: O(log k)
// updates, but the lanes of a warp diverge to different slots.

#include <string_view>

#include "kselect/contract.hpp"
#include "kselect/hd.hpp"

namespace kselect::queues {

// Operations: see insertion_queue.cuh.
template <class Slots>
class heap_queue {
 public:
  using entry = typename Slots::entry;
  static constexpr bool collective = false;

  KSELECT_HD heap_queue(Slots& slots, int) : slots_(slots) { reload(); }
  KSELECT_HD entry head() const { return head_; }
  KSELECT_HD void reload() { head_ = slots_[0]; }
  KSELECT_HD void push(entry e) {
    const int size = slots_.size();
    int hole = 0;
    for (int child = 1; child < size; child = 2 * hole + 1) {
      const entry left = slots_[child];
      const entry right = child + 1 < size ? slots_[child + 1] : entry{0};
      const entry larger = left < right ? right : left;
      if (!(e < larger)) break;
      slots_.put(hole, larger);
      hole = left < right ? child + 1 : child;
    }
    slots_.put(hole, e);
    reload();
  }

 private:
  Slots& slots_;
  entry head_;
};

struct heap {
  static constexpr std::string_view name = "heap";
  static constexpr std::string_view source = "Tang et al. 2015, Sec. III-B";
  static constexpr bool aligned = false;
  static constexpr output_ordering ordering = output_ordering::unsorted;
  template <class Slots>
  using queue = heap_queue<Slots>;
};

}  // namespace kselect::queues
