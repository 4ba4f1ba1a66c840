#pragma once
// Insertion queue (Tang et al. 2015, Sec. III-B; Garcia et al. 2010): all k slots sorted, the
// largest at the head. An insertion moves every larger element one slot towards the head: O(k).

#include <string_view>

#include "algorithms/queues/sorted_run.cuh"
#include "kselect/contract.hpp"

namespace kselect::queues {

// A queue holds the `size` best entries pushed so far. At first its slots are empty. Operations:
//   head()        the worst entry; only a smaller one may be pushed
//   push(e)       e enters, the head leaves
//   repair(warp)  only `collective` queues: all lanes of the warp (search.cuh) call it after a push
//                 by any of them
//   reload()      after the slots were rewritten in place, in the same order
template <class Slots>
class insertion_queue {
 public:
  using entry = typename Slots::entry;
  static constexpr bool collective = false;

  KSELECT_HD insertion_queue(Slots& slots, int) : slots_(slots) { reload(); }
  KSELECT_HD entry head() const { return head_; }
  KSELECT_HD void reload() { head_ = slots_[0]; }
  KSELECT_HD void push(entry e) {
    replace_largest(slots_, slots_.size(), e);
    reload();
  }

 private:
  Slots& slots_;
  entry head_;
};

// The traits that queue_select.cuh composes algorithms of.
struct insertion {
  static constexpr std::string_view name = "insertion";
  static constexpr std::string_view source = "Tang et al. 2015, Sec. III-B; Garcia et al. 2010";
  static constexpr bool aligned = false;  // Queue::collective, for any slots
  static constexpr output_ordering ordering = output_ordering::stable_sorted;
  template <class Slots>
  using queue = insertion_queue<Slots>;
};

}  // namespace kselect::queues
