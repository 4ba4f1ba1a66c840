#pragma once
// Ways to reach a queue: directly (Tang et al. 2015, Algorithm 1) or through a buffer (Sec. III-D,
// Algorithm 3), in the paper's three steps:
//   own     a lane's candidates wait in its buffer; the lane empties a full buffer
//   full    all lanes of the warp empty their buffers once one is full (intra-warp communication)
//   sorted  each lane also inserts its smallest candidate first (local sort): this lowers the head,
//           and some of the others then need no insertion
// A warp's lanes learn from each other by a vote, or by the paper's flag in shared memory.
//
// And orders in which a warp visits elements:
//   lockstep  the paper's: all 32 lanes handle the same element of their lists at the same step. A
//             lane whose element does not enter waits for those whose elements do.
//   skipping  ours: a lane goes on to its own next element that may enter, within the few elements
//             that were loaded together. That gathers insertions of several lanes in one step, as
//             a buffer does.

#include <cstdint>

#include "algorithms/queues/sorted_run.cuh"
#include "kselect/hd.hpp"
#include "kselect/simt/counters.hpp"

namespace kselect::queues {

enum class buffering : std::uint8_t { none, own, full, sorted };

// The lanes that work on rows. All of them make each call of this file together.
template <class Simt>
struct lanes {
  Simt& simt;
  std::uint32_t mask;
  bool lockstep = false;  // else skipping
  bool by_flag = false;   // told() is the paper's, else a vote
  int* flag = nullptr;    // the warp's, in shared memory; needed if by_flag

  KSELECT_HD void clear_flag() const {
    *flag = 0;
    simt.sync_warp(mask);
  }
  // Whether any lane says `mine` (intra-warp communication: Algorithm 2, lines 4 to 8, and
  // Algorithm 3, lines 8 to 13). The paper's warps ran in step; present ones need the barriers, so
  // that all lanes read the flag after it was set and before it is cleared or set again.
  KSELECT_HD bool told(bool mine) const {
    if (!by_flag) return simt.any(mask, mine);
    if (mine) *flag = 1;
    simt.sync_warp(mask);
    const bool set = *flag != 0;
    simt.sync_warp(mask);
    if (set) clear_flag();
    return set;
  }
};

// Algorithm 1, lines 2 to 4: inserts `e` if it is better than the queue's head, which is the worst
// entry ("max. value is at queue head"). Queue::push is the paper's insert_into_queue.
template <class Simt, class Queue>
KSELECT_HD void insert(const lanes<Simt>& warp, Queue& queue, typename Queue::entry e) {
  const bool enters = e < queue.head();
  if constexpr (Queue::collective) {
    if (!warp.simt.any(warp.mask, enters)) return;
  }
  if (enters) {
    warp.simt.count(simt::counter::queue_inserts);
    warp.simt.count_step(simt::counter::insert_steps);
    queue.push(e);
  }
  if constexpr (Queue::collective) queue.repair(warp);
}

// Algorithm 1: each element is compared with the head at once.
template <class Simt, class Queue>
class direct_search {
 public:
  using entry = typename Queue::entry;

  KSELECT_HD direct_search(const lanes<Simt>& warp, Queue& queue) : warp_(warp), queue_(queue) {}
  KSELECT_HD entry head() const { return queue_.head(); }
  KSELECT_HD void offer(entry e) { insert(warp_, queue_, e); }
  KSELECT_HD void finish() {}

 private:
  const lanes<Simt>& warp_;
  Queue& queue_;
};

// Algorithm 3. `waiting_` is the paper's cur, `size_` its bsize, told() its flag.
template <class Simt, class Queue, class Slots>
class buffered_search {
 public:
  using entry = typename Queue::entry;

  KSELECT_HD buffered_search(const lanes<Simt>& warp, Queue& queue, Slots buffer, int size,
                             buffering how)
      : warp_(warp), queue_(queue), buffer_(buffer), size_(size), how_(how) {}
  KSELECT_HD entry head() const { return queue_.head(); }

  // Lines 4 to 10: a candidate goes into the buffer, and a full buffer sets the flag.
  KSELECT_HD void offer(entry e) {
    if (e < queue_.head()) {
      buffer_.put(waiting_, e);
      ++waiting_;
    }
    const bool full = waiting_ == size_;
    if (warp_.told(full)) empty(full || how_ != buffering::own);
  }
  // Inserts the candidates that still wait.
  KSELECT_HD void finish() {
    if (warp_.simt.any(warp_.mask, waiting_ > 0)) empty(true);
  }

 private:
  // Lines 11 to 13: local sort, then insertion. Lanes with `mine` empty their buffers; the others
  // take part in the votes.
  KSELECT_HD void empty(bool mine) {
    constexpr entry none = static_cast<entry>(~entry{0});
    const int count = mine ? waiting_ : 0;
    if (count > 0) warp_.simt.count(simt::counter::buffer_flushes);
    const bool sort = how_ == buffering::sorted;
    if (sort && mine) {
      for (int i = count; i < size_; ++i) buffer_.put(i, none);
      bitonic_sort(buffer_, size_);  // descending: the smallest is last
    }
    for (int i = 0; warp_.simt.any(warp_.mask, i < count); ++i) {
      insert(warp_, queue_, i < count ? buffer_[sort ? size_ - 1 - i : i] : none);
    }
    if (mine) waiting_ = 0;
  }

  const lanes<Simt>& warp_;
  Queue& queue_;
  Slots buffer_;
  int size_;  // a power of two
  buffering how_;
  int waiting_ = 0;
};

// Offers the elements `seen`, each lane its own, in this order. They were loaded together, so that
// their latencies overlapped. The few that pass the head's present value are loaded again by at(u),
// from L1, and offered one after another. In lockstep the warp goes on to the first element that
// any lane has left, and the lanes that have it offer it: Algorithms 1 and 3, without the steps in
// which all lanes' elements fail. Skipping, each lane goes on to its own next element, so the warp
// takes as many steps as the lane with the most.
template <int count, class Simt, class Search, class Entry, class At>
KSELECT_HD void offer_all(const lanes<Simt>& warp, Search& search, const Entry (&seen)[count],
                          At at) {
  static_assert(count <= 32, "one bit an element");
  std::uint32_t passed = 0;
  KSELECT_UNROLL
  for (int u = 0; u < count; ++u) passed |= (seen[u] < search.head() ? 1U : 0U) << u;
  while (warp.simt.any(warp.mask, passed != 0)) {
    bool mine = passed != 0;
    const int u = mine ? warp.simt.ffs(passed) - 1 : 0;
    if (warp.lockstep) {
      const auto next = static_cast<std::uint32_t>(mine ? u : count);
      const std::uint32_t first = warp.simt.reduce_min(warp.mask, next);
      mine = mine && next == first;
    }
    if (mine) {
      passed &= passed - 1;
      warp.simt.count(simt::counter::candidates);
    }
    search.offer(mine ? at(u) : static_cast<Entry>(~Entry{0}));
  }
}

}  // namespace kselect::queues
