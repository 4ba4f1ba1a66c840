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
  // An object further away is none of the k nearest. Infinite while there are fewer than k.
  float radius() const {
    return heap_.full() ? distance_of(heap_.root()) : std::numeric_limits<float>::infinity();
  }
  // Returns the objects, nearest first, ties by number. Leaves the heap empty.
  std::span<const entry> sort() {
    return std::span(entries_).first(static_cast<std::size_t>(heap_.sort()));
  }

 private:
  using slots = queues::plain_slots<entry, 1>;

  std::vector<entry> entries_;
  heap_reduction::bounded_heap<slots> heap_;
};

// The work of a search.
struct work {
  std::int64_t distances = 0;  // evaluated, those to centres and pivots included
  std::int64_t clusters = 0;   // clusters whose members were visited
  std::int64_t pruned = 0;     // objects whose distance an index avoided

  work& operator+=(const work& other) {
    distances += other.distances;
    clusters += other.clusters;
    pruned += other.pruned;
    return *this;
  }
  bool operator==(const work&) const = default;
};

}  // namespace kselect::search::metric_space
