#pragma once
// Merge queue (Tang et al. 2015, Sec. III-C, Algorithm 2): levels of m, m, 2m, 4m ... slots. Each
// level is sorted in descending order, and the levels' heads descend, so the first head is the
// largest. An element is inserted into the first level. Levels are merged only when a level's head
// falls below the next one's ("lazy update"): O(log^2 k) an insertion on average.
//
// Aligned: all lanes of a warp merge when any of them has to.
//
// Against the paper: Algorithm 2 prints the comparison of the heads reversed (line 5 asks for a
// merge where the order holds). It needs k = m 2^j; here the last level is cut off at k. Lanes tell
// each other by a vote or by the paper's shared flag (search.cuh).

#include <string_view>

#include "algorithms/queues/sorted_run.cuh"
#include "kselect/contract.hpp"
#include "kselect/simt/counters.hpp"

namespace kselect::queues {

// Operations: see insertion_queue.cuh. m is a power of two.
template <class Slots, bool aligned>
class merge_queue {
 public:
  using entry = typename Slots::entry;
  static constexpr bool collective = aligned;

  KSELECT_HD merge_queue(Slots& slots, int m) : slots_(slots), m_(m) { reload(); }
  KSELECT_HD entry head() const { return head_; }
  KSELECT_HD void reload() { head_ = slots_[0]; }

  // Algorithm 2. Line 1, flat_insert: the element enters the first level, whose largest leaves.
  KSELECT_HD void push(entry e) {
    replace_largest(slots_, m_ < slots_.size() ? m_ : slots_.size(), e);
    if constexpr (!aligned) merge_while([](bool broken) { return broken; });
    reload();
  }
  // Aligned merge: all lanes of the warp do lines 3 to 10 together.
  template <class Lanes>
  KSELECT_HD void repair(const Lanes& warp) {
    merge_while([&](bool broken) { return warp.told(broken); });
    reload();
  }

 private:
  // Lines 3 to 10: merges level after level while `decide` says so, given whether the lane's order
  // is broken. A lane that merges here has merged at every level before, so its first `next` slots
  // are one run. merge() of line 9 is the reverse bitonic merge of Fig. 2b.
  template <class Decide>
  KSELECT_HD void merge_while(Decide decide) {
    for (int previous = 0, next = m_; next < slots_.size(); previous = next, next *= 2) {
      if (!decide(slots_[previous] < slots_[next])) return;
      reverse_bitonic_merge(slots_, slots_.size(), 0, next);
      slots_.simt().count(simt::counter::queue_merges);
    }
  }

  Slots& slots_;
  int m_;
  entry head_;
};

struct merge {
  static constexpr std::string_view name = "merge";
  static constexpr std::string_view source = "Tang et al. 2015, Sec. III-C, Alg. 2";
  static constexpr bool aligned = false;
  static constexpr output_ordering ordering = output_ordering::unsorted;
  template <class Slots>
  using queue = merge_queue<Slots, false>;
};

struct merge_aligned : merge {
  static constexpr std::string_view name = "merge_aligned";
  static constexpr bool aligned = true;
  template <class Slots>
  using queue = merge_queue<Slots, true>;
};

}  // namespace kselect::queues
