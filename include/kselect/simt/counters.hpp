#pragma once
// Exact counts of a kernel's work, from the fiber executor. For a deterministic kernel they do not
// depend on the lane schedule or the number of host threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kselect/hd.hpp"
#include "kselect/names.hpp"

namespace kselect::simt {

enum class counter : std::uint8_t {
  // Counted by the executor.
  blocks,          // blocks run
  threads,         // threads run
  collectives,     // ballot, any, all, shfl*, match_any, reduce_*: one per mask
  warp_syncs,      // sync_warp: one per mask
  block_syncs,     // sync_block: one per block
  atomics,         // one per lane
  global_reads,    // elements; a vector of four counts four
  global_writes,   // elements
  bytes_read,      // of global memory
  bytes_written,   // of global memory
  inactive_reads,  // values shuffled from lanes outside the mask (fiber_options)
  // Counted by kernels, with simt.count().
  queue_inserts,   // elements that entered a queue
  insert_steps,    // steps of a warp in which an element of any lane entered (count_step)
  queue_updates,   // writes to a queue's slots, by slot (count_at)
  queue_merges,    // merges or repairs of a queue
  buffer_flushes,  // a buffer of candidates emptied
  candidates,      // elements that passed a filter
  comparisons,     // of keys
  partitions,      // partition steps of a row
  passes,          // sweeps over a row
  distances,       // distance evaluations between two objects
  clusters,        // clusters of a metric index whose members were visited
  pruned           // objects whose distance evaluation a metric index avoided
};

inline constexpr std::size_t counter_count = static_cast<std::size_t>(counter::pruned) + 1;

struct counters {
  std::array<std::int64_t, counter_count> values{};

  std::int64_t operator[](counter c) const { return values[static_cast<std::size_t>(c)]; }
  KSELECT_HD constexpr void add(counter c, std::int64_t amount) {
    values[static_cast<std::size_t>(c)] += amount;
  }
  counters& operator+=(const counters& other) {
    for (std::size_t i = 0; i < counter_count; ++i) values[i] += other.values[i];
    return *this;
  }
  bool operator==(const counters&) const = default;
};

// The counts of count_at by place: a queue slot, a level, a bin. Each counter has a list that ends
// at its highest counted place. Counters without count_at have empty lists.
struct places {
  std::array<std::vector<std::int64_t>, counter_count> values;

  const std::vector<std::int64_t>& operator[](counter c) const {
    return values[static_cast<std::size_t>(c)];
  }
  void add(counter c, std::int64_t place, std::int64_t amount) {
    auto& list = values[static_cast<std::size_t>(c)];
    const auto i = static_cast<std::size_t>(place);
    if (i >= list.size()) list.resize(i + 1);
    list[i] += amount;
  }
  places& operator+=(const places& other) {
    for (std::size_t c = 0; c < counter_count; ++c) {
      for (std::size_t i = 0; i < other.values[c].size(); ++i) {
        add(static_cast<counter>(c), static_cast<std::int64_t>(i), other.values[c][i]);
      }
    }
    return *this;
  }
  bool operator==(const places&) const = default;
};

constexpr auto names_of(counter) {
  return std::to_array<named<counter>>({{counter::blocks, "blocks"},
                                        {counter::threads, "threads"},
                                        {counter::collectives, "collectives"},
                                        {counter::warp_syncs, "warp_syncs"},
                                        {counter::block_syncs, "block_syncs"},
                                        {counter::atomics, "atomics"},
                                        {counter::global_reads, "global_reads"},
                                        {counter::global_writes, "global_writes"},
                                        {counter::bytes_read, "bytes_read"},
                                        {counter::bytes_written, "bytes_written"},
                                        {counter::inactive_reads, "inactive_reads"},
                                        {counter::queue_inserts, "queue_inserts"},
                                        {counter::insert_steps, "insert_steps"},
                                        {counter::queue_updates, "queue_updates"},
                                        {counter::queue_merges, "queue_merges"},
                                        {counter::buffer_flushes, "buffer_flushes"},
                                        {counter::candidates, "candidates"},
                                        {counter::comparisons, "comparisons"},
                                        {counter::partitions, "partitions"},
                                        {counter::passes, "passes"},
                                        {counter::distances, "distances"},
                                        {counter::clusters, "clusters"},
                                        {counter::pruned, "pruned"}});
}

}  // namespace kselect::simt
