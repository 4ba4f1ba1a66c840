#pragma once
// The memory of a lane's queue and buffer: an array of entries. slots[j] reads; slots.put(j, e)
// writes and counts an update; slots.set(j, e) only writes, and slots.count_update(j) only counts.
//
// In shared and global memory the arrays of a block's 32 rows are interleaved: slot j of row r is
// at 32 j + r. Lanes at the same slot have no bank conflicts and one coalesced access. In shared
// memory lanes at different slots have no bank conflicts either, as a lane's bank does not depend
// on j. The hardware interleaves local memory likewise. An array that is indexed at run time lives
// there, which is no register spill (ptxas reports "stack frame" and "spill" separately).

#include <cstdint>

#include "kselect/hd.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::queues {

inline constexpr int block_rows = 32;

// Shared memory (stride 32), or an array of one lane (stride 1: local memory, or the host's).
template <class Entry, int stride>
class plain_slots {
 public:
  using entry = Entry;

  KSELECT_HD explicit plain_slots(Entry* first) : first_(first) {}
  KSELECT_HD Entry operator[](int j) const { return first_[j * stride]; }
  KSELECT_HD void put(int j, Entry e) { first_[j * stride] = e; }
  KSELECT_HD void set(int j, Entry e) { put(j, e); }
  KSELECT_HD void count_update(int) const {}
  KSELECT_HD plain_slots from(int j) const { return plain_slots(first_ + j * stride); }

 private:
  Entry* first_;
};

// Global memory, checked and counted by the executor.
template <class Simt, class Entry>
class global_slots {
 public:
  using entry = Entry;

  // Slot 0 of the lane is element `first`.
  KSELECT_HD global_slots(Simt& simt, simt::global<Entry> whole, std::int64_t first)
      : simt_(&simt), whole_(whole), first_(first) {}
  KSELECT_HD Entry operator[](int j) const { return simt_->load(whole_, place(j)); }
  KSELECT_HD void put(int j, Entry e) { simt_->store(whole_, place(j), e); }
  KSELECT_HD void set(int j, Entry e) { put(j, e); }
  KSELECT_HD void count_update(int) const {}
  KSELECT_HD global_slots from(int j) const { return {*simt_, whole_, place(j)}; }

 private:
  KSELECT_HD std::int64_t place(int j) const { return first_ + j * block_rows; }

  Simt* simt_;
  simt::global<Entry> whole_;
  std::int64_t first_;
};

// The slots of a queue: every write is one of the paper's "updates" of that position (Fig. 5).
template <class Simt, class Slots>
class queue_slots {
 public:
  using entry = typename Slots::entry;

  KSELECT_HD queue_slots(Simt& simt, Slots slots, int size)
      : simt_(&simt), slots_(slots), size_(size) {}
  KSELECT_HD int size() const { return size_; }
  KSELECT_HD entry operator[](int j) const { return slots_[j]; }
  KSELECT_HD void put(int j, entry e) {
    set(j, e);
    count_update(j);
  }
  // Not an update: the first filling, or another name for the same element.
  KSELECT_HD void set(int j, entry e) { slots_.put(j, e); }
  KSELECT_HD void count_update(int j) { simt_->count_at(simt::counter::queue_updates, j); }
  KSELECT_HD Simt& simt() const { return *simt_; }

 private:
  Simt* simt_;
  Slots slots_;
  int size_;
};

}  // namespace kselect::queues
