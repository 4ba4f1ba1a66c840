// Selection with insertion queues (algorithms/queues/): the paper's compositions, in several
// memories.
//
// Entries: tang/insertion

#include "algorithms/queues/insertion_queue.cuh"
#include "algorithms/queues/queue_entries.cuh"

namespace kselect::entries {

std::span<const algorithm> insertion_queue() {
  using namespace queues;
  return queue_entries<insertion, variant{.where = memory::local},
                       variant{.where = memory::global}>;
}

}  // namespace kselect::entries
