#pragma once
// The k nearest objects seen so far, on the host.

#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/heap_reduction/bounded_heap.cuh"
#include "algorithms/queues/slots.cuh"
#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

class nearest_heap {
 public:
  explicit nearest_heap(std::int64_t k)
      : entries_(static_cast<std::size_t>(k)), heap_(slots(entries_.data()), static_cast<int>(k)) {}
  nearest_heap(const nearest_heap&) = delete;
  nearest_heap& operator=(const nearest_heap&) = delete;

  void offer(float distance, std::int64_t object) { heap_.offer(make_entry(distance, object)); }
  // What is further away than this is none of the k nearest; infinite while there are fewer.
  float radius() const {
    return heap_.full() ? distance_of(heap_.root()) : std::numeric_limits<float>::infinity();
  }
  // Nearest first, ties by number; the heap is empty after it.
  std::span<const entry> sort() {
    return std::span(entries_).first(static_cast<std::size_t>(heap_.sort()));
  }

 private:
  using slots = queues::plain_slots<entry, 1>;

  std::vector<entry> entries_;
  heap_reduction::bounded_heap<slots> heap_;
};

// What a search did. Distances to centres and pivots are counted with the others.
struct work {
  std::int64_t distances = 0;  // evaluated
  std::int64_t clusters = 0;   // whose members were looked at
  std::int64_t pruned = 0;     // objects whose distance an index spared

  work& operator+=(const work& other) {
    distances += other.distances;
    clusters += other.clusters;
    pruned += other.pruned;
    return *this;
  }
  bool operator==(const work&) const = default;
};

}  // namespace kselect::search::metric_space
