// Selection with heap queues (algorithms/queues/): the paper's compositions, in several memories.
//
// Entries: tang/heap

#include "algorithms/queues/heap_queue.cuh"
#include "algorithms/queues/queue_entries.cuh"

namespace kselect::entries {

std::span<const algorithm> heap_queue() {
  using namespace queues;
  return queue_entries<heap, variant{.where = memory::local}, variant{.where = memory::global}>;
}

}  // namespace kselect::entries
