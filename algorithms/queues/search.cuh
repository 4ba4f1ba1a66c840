#pragma once
// How elements reach a queue: one by one (Tang et al. 2015, Algorithm 1) or through a buffer
// (Sec. III-D, Algorithm 3), in the paper's three steps:
//   own     a lane's candidates wait in its buffer; a lane empties it when it is full
//   full    all lanes of the warp empty theirs once one is full (intra-warp communication)
//   sorted  and each inserts its smallest candidate first (local sort): that lowers the head so
//           far that some of the others need no insertion
// The paper's shared flag is a vote of the warp here; the steps differ in nothing else, so they are
// values of one switch.

#include <cstdint>

#include "algorithms/queues/sorted_run.cuh"
#include "kselect/hd.hpp"
#include "kselect/simt/counters.hpp"

namespace kselect::queues {

enum class buffering : std::uint8_t { none, own, full, sorted };

// The lanes that work on rows; all of them make each call of this file together.
template <class Simt>
struct lanes {
  Simt& simt;
  std::uint32_t mask;
};

// `e` enters the queue if it is better than the head.
template <class Simt, class Queue>
KSELECT_HD void insert(const lanes<Simt>& warp, Queue& queue, typename Queue::entry e) {
  const bool enters = e < queue.head();
  if constexpr (Queue::collective) {
    if (!warp.simt.any(warp.mask, enters)) return;
  }
  if (enters) {
    warp.simt.count(simt::counter::queue_inserts);
    queue.push(e);
  }
  if constexpr (Queue::collective) queue.repair(warp.mask);
}

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

template <class Simt, class Queue, class Slots>
class buffered_search {
 public:
  using entry = typename Queue::entry;

  KSELECT_HD buffered_search(const lanes<Simt>& warp, Queue& queue, Slots buffer, int size,
                             buffering how)
      : warp_(warp), queue_(queue), buffer_(buffer), size_(size), how_(how) {}
  KSELECT_HD entry head() const { return queue_.head(); }

  KSELECT_HD void offer(entry e) {
    if (e < queue_.head()) {
      buffer_.put(waiting_, e);
      ++waiting_;
    }
    const bool full = waiting_ == size_;
    if (warp_.simt.any(warp_.mask, full)) empty(full || how_ != buffering::own);
  }
  // What still waits enters the queue.
  KSELECT_HD void finish() {
    if (warp_.simt.any(warp_.mask, waiting_ > 0)) empty(true);
  }

 private:
  // The lanes with `mine` empty their buffers; the others take part in the votes.
  KSELECT_HD void empty(bool mine) {
    constexpr entry none = static_cast<entry>(~entry{0});
    const int count = mine ? waiting_ : 0;
    if (count > 0) warp_.simt.count(simt::counter::buffer_flushes);
    const bool sort = how_ == buffering::sorted;
    if (sort && mine) {
      for (int i = count; i < size_; ++i) buffer_.put(i, none);
      bitonic_sort(buffer_, size_);  // descending: the smallest is the last
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

// Offers the elements `seen`, each lane its own in this order. All of them have been loaded, so
// that their latencies overlapped; the few that pass the head of this moment are loaded again, by
// at(u) (from the L1 cache), and offered one after another, as Algorithms 1 and 3 have it. Lanes
// need not be at the same element: each goes on to its next one that passed, so that the warp is
// done after as many steps as the lane with the most of them needs.
template <int count, class Simt, class Search, class Entry, class At>
KSELECT_HD void offer_all(const lanes<Simt>& warp, Search& search, const Entry (&seen)[count],
                          At at) {
  static_assert(count <= 32, "one bit an element");
  std::uint32_t passed = 0;
  KSELECT_UNROLL
  for (int u = 0; u < count; ++u) passed |= (seen[u] < search.head() ? 1U : 0U) << u;
  while (warp.simt.any(warp.mask, passed != 0)) {
    const bool mine = passed != 0;
    const int u = mine ? warp.simt.ffs(passed) - 1 : 0;
    passed &= passed - 1;
    if (mine) warp.simt.count(simt::counter::candidates);
    search.offer(mine ? at(u) : static_cast<Entry>(~Entry{0}));
  }
}

}  // namespace kselect::queues
