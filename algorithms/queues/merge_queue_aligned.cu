// Selection with merge queues whose lanes merge together (algorithms/queues/): the paper's
// compositions, in several memories, and other sizes of the first level and the buffer.
//
// Entries: tang/merge_aligned

#include "algorithms/queues/merge_queue.cuh"
#include "algorithms/queues/queue_entries.cuh"

namespace kselect::entries {

std::span<const algorithm> merge_queue_aligned() {
  using namespace queues;
  constexpr auto sorted = buffering::sorted;
  constexpr auto full = buffering::full;
  return queue_entries<
      merge_aligned, variant{.lockstep = true, .by_flag = true}, variant{.where = memory::local},
      variant{.where = memory::global}, variant{.how = full, .log_g = 2, .m = 4},
      variant{.how = full, .log_g = 2, .m = 16}, variant{.how = full, .log_g = 2, .m = 32},
      variant{.how = full, .log_g = 2, .buffer = 8}, variant{.how = full, .log_g = 2, .buffer = 32},
      variant{.how = sorted, .log_g = 2, .buffer = 8},
      variant{.how = sorted, .log_g = 2, .buffer = 32},
      variant{.how = full, .log_g = 2, .where = memory::shared},
      variant{.how = full, .log_g = 2, .where = memory::global},
      variant{.how = full, .log_g = 2, .where = memory::local}>;
}

}  // namespace kselect::entries
