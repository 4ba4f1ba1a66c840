// Selection with merge queues whose lanes merge independently (algorithms/queues/): the paper's
// compositions, in several memories.
//
// Entries: tang/merge

#include "algorithms/queues/merge_queue.cuh"
#include "algorithms/queues/queue_entries.cuh"

namespace kselect::entries {

std::span<const algorithm> merge_queue() {
  using namespace queues;
  return queue_entries<merge, variant{.where = memory::local}, variant{.where = memory::global}>;
}

}  // namespace kselect::entries
