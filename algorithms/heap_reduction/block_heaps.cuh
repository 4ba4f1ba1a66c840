#pragma once
// The heaps of a block and their reduction: Barrientos 2011, Sec. 3.1.2, Alg. 5.
//
//   1  Every thread has a heap of at most `capacity` entries in global memory and offers it the
//      entries that it finds (offer).
//   2  The first warp reads these heaps, lane l those of the threads l, l + 32, ..., and keeps
//      their k least entries in 32 heaps in shared memory.
//   3  The first thread reads the 32 heaps, keeps the k least entries in a last heap and sorts it.
//
// The slots of a warp's 32 heaps are interleaved, slot j of lane l at 32 j + l: lanes at the same
// slot have one coalesced access, as with the thesis' matrix of k x T.

#include "algorithms/heap_reduction/bounded_heap.cuh"
#include "algorithms/queues/slots.cuh"
#include "kselect/simt/types.hpp"

namespace kselect::heap_reduction {

// A block's shared memory beside the heaps of stages 2 and 3.
struct reduction_storage {
  int sizes[simt::thread_limit];  // of the threads' heaps, then of the lanes'
  int found;                      // entries of the answer
};

// Entries in global memory for a block of `threads`.
constexpr std::int64_t heap_entries(int threads, std::int64_t capacity) {
  return threads * capacity;
}
// Bytes of shared memory for stages 2 and 3.
template <class Entry>
constexpr std::size_t shared_heap_bytes(std::int64_t k) {
  return static_cast<std::size_t>(k) * (simt::warp_size + 1) * sizeof(Entry);
}

template <class Simt, class Entry>
class block_heaps {
 public:
  // `whole`: the heaps of all blocks, in the order of their numbers. `lists`: shared memory of
  // shared_heap_bytes<Entry>(k) bytes, aligned to an entry. 1 <= capacity <= k.
  KSELECT_HD block_heaps(Simt& simt, reduction_storage& shared, simt::global<Entry> whole,
                         Entry* lists, int capacity, int k)
      : simt_(simt),
        shared_(shared),
        heaps_(simt.slice(whole, simt.block() * heap_entries(simt.threads(), capacity),
                          heap_entries(simt.threads(), capacity))),
        lists_(lists),
        capacity_(capacity),
        k_(k),
        own_(slots_of(simt.warp()), capacity) {}

  KSELECT_HD void clear() { own_.clear(); }
  KSELECT_HD void offer(Entry e) {
    if (own_.offer(e)) simt_.count(simt::counter::queue_inserts);
  }
  // The calling thread's own heap: whether it holds k entries, and its greatest entry.
  KSELECT_HD bool full() const { return own_.size() == k_; }
  KSELECT_HD Entry root() const { return own_.root(); }

  // Stages 2 and 3, by all threads of the block. Returns the number of entries found, at most k.
  // Leaves the threads' heaps unchanged.
  KSELECT_HD int reduce() {
    shared_.sizes[simt_.thread()] = own_.size();
    simt_.sync_block();
    if (simt_.warp() == 0) reduce_to_warp();
    simt_.sync_block();
    if (simt_.thread() == 0) reduce_to_one();
    simt_.sync_block();
    return shared_.found;
  }
  // After reduce(): entry j of the answer, in ascending order.
  KSELECT_HD Entry best(int j) const { return last_list()[j]; }

 private:
  using thread_slots = queues::global_slots<Simt, Entry>;
  using lane_slots = queues::plain_slots<Entry, simt::warp_size>;
  using last_slots = queues::plain_slots<Entry, 1>;

  // Slots of the calling lane's heap in the given warp.
  KSELECT_HD thread_slots slots_of(int warp) const {
    return {simt_, heaps_, std::int64_t{warp} * capacity_ * simt::warp_size + simt_.lane()};
  }
  KSELECT_HD Entry* last_list() const { return lists_ + k_ * simt::warp_size; }

  KSELECT_HD void reduce_to_warp() {
    const int lane = simt_.lane();
    bounded_heap<lane_slots> kept(lane_slots(lists_ + lane), k_);
    for (int warp = 0; warp < simt_.warps(); ++warp) {
      const thread_slots slots = slots_of(warp);
      // Last slots first: they hold lesser entries, so later ones displace fewer.
      for (int j = shared_.sizes[warp * simt::warp_size + lane] - 1; j >= 0; --j) {
        kept.offer(slots[j]);
      }
    }
    shared_.sizes[lane] = kept.size();
  }

  KSELECT_HD void reduce_to_one() {
    bounded_heap<last_slots> kept(last_slots(last_list()), k_);
    for (int lane = 0; lane < simt::warp_size; ++lane) {
      const lane_slots slots(lists_ + lane);
      for (int j = shared_.sizes[lane] - 1; j >= 0; --j) kept.offer(slots[j]);
    }
    shared_.found = kept.sort();
  }

  Simt& simt_;
  reduction_storage& shared_;
  simt::global<Entry> heaps_;
  Entry* lists_;
  int capacity_, k_;
  bounded_heap<thread_slots> own_;
};

}  // namespace kselect::heap_reduction
