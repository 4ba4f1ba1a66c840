#pragma once
// Answers on their way from a device's memory to the host's.

#include <cstdint>
#include <span>
#include <vector>

#include "search/metric/device_memory.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// Found objects and their distances in a device's memory.
struct found_on_device {
  device_array<std::int64_t> objects;
  device_array<float> distances;
};

// Where each query's hits begin, and where the last one's end: [counts + 1].
std::vector<std::int64_t> starts_of(std::span<const std::uint32_t> counts);

// Appends the hits of the next queries, of which those of query q are in places starts[q] to
// starts[q + 1] - 1. A query's hits are in order, unless they are more than `sorted`: then they are
// sorted here. The answer has starts, of which the first is 0.
// At most `threads` threads do so.
void append_hits(const found_on_device& found, std::span<const std::int64_t> starts,
                 std::int64_t sorted, int threads, range_answer& answer);

}  // namespace kselect::search::metric_space
