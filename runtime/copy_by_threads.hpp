#pragma once

#include <cstddef>
#include <span>

namespace kselect::runtime {

// How many of `threads` threads move memory: more do not move it faster, because its bandwidth is
// reached. A thread that runs several parallel regions in turn should ask for the same number in
// each: OpenMP ends those that a smaller team leaves over, and starting them again takes a
// millisecond.
int moving_threads(int threads);
// Starts them for the calling thread. Otherwise its first parallel region does.
void start_moving_threads(int threads);

struct moved_bytes {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};

// Copies all pieces with moving_threads(threads) threads, or with one if they are few bytes. Large
// copies need several: one thread has less than the memory's bandwidth, and pays for each page of
// fresh memory alone.
void copy_by_threads(std::span<const moved_bytes> pieces, int threads);
void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes, int threads);

}  // namespace kselect::runtime
