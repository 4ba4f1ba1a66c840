#pragma once
// Device code: how a thread of the wgmma bodies appends to a row's list.

#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused::hopper {

// Appends the positions whose bit is set, all with the same score (survivor_lists). Bit i of the
// mask is of position first_position + 8 (i / 2) + i % 2: these are a thread's columns of a tile.
// `found`, in shared memory, counts the row's survivors in its segment of the lists. `segment()` is
// that segment's number; it is found while the place in it is on its way.
template <class Segment>
__device__ __forceinline__ void append_survivors(const survivor_lists& lists, std::uint32_t& found,
                                                 const Segment& segment, std::uint32_t passed,
                                                 int first_position, float score) {
  const std::uint32_t place = atomicAdd(&found, __popc(passed));
  const auto room = static_cast<std::uint32_t>(lists.room);
  // Where a list runs over, it does not matter which survivors it lacks: its row is done again.
  const std::uint32_t left = place < room ? room - place : 0;
#pragma unroll 1
  while (static_cast<std::uint32_t>(__popc(passed)) > left) passed &= passed - 1;
  std::int64_t at = segment() * std::int64_t{lists.room} + place;
#pragma unroll 1
  for (; passed != 0; passed &= passed - 1, ++at) {
    const int i = __ffs(static_cast<int>(passed)) - 1;
    lists.positions.data[at] = first_position + i / 2 * 8 + i % 2;
    lists.scores.data[at] = score;
  }
}

}  // namespace kselect::search::fused::hopper
