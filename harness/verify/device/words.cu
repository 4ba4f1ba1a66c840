#include <algorithm>

#include "harness/error.hpp"
#include "harness/verify/device/word_kernels.cuh"
#include "harness/verify/device/words.hpp"

namespace kselect {
namespace {

// Enough to fill any GPU; a few for every thread of it.
simt::grid grid_for(std::int64_t words) {
  constexpr std::int64_t threads = fill_kernel::max_threads, most_blocks = 1 << 13;
  return {.blocks = std::clamp((words + threads - 1) / threads, std::int64_t{1}, most_blocks),
          .threads = static_cast<int>(threads)};
}

template <class T>
simt::global<T> over(T* data, std::int64_t size) {
  return {data, size};
}

std::int64_t words_of(std::size_t bytes) {
  if (bytes % sizeof(std::uint32_t) != 0) {
    throw error(failure::usage, std::to_string(bytes) + " bytes are no whole number of words");
  }
  return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
}

void require(const status& done) {
  if (!done.ok()) throw error(failure::unsupported, done.message);
}

}  // namespace

void fill_words(backend& place, std::byte* to, std::size_t bytes, std::uint32_t word) {
  const std::int64_t words = words_of(bytes);
  if (words == 0) return;
  require(simt::launch<fill_kernel>(place.executor(), grid_for(words),
                                    {over(reinterpret_cast<std::uint32_t*>(to), words), word}));
}

std::uint64_t hash_words(backend& place, const std::byte* from, std::size_t bytes) {
  const std::int64_t words = words_of(bytes);
  std::uint64_t sum = 0;
  const std::span host = std::as_writable_bytes(std::span(&sum, 1));
  const device_buffer result(place, sizeof sum);
  place.to_device(result.data(), host);
  require(simt::launch<hash_kernel>(place.executor(), grid_for(words),
                                    {over(reinterpret_cast<const std::uint32_t*>(from), words),
                                     over(reinterpret_cast<std::uint64_t*>(result.data()), 1)}));
  place.to_host(host, result.data());
  return sum;
}

}  // namespace kselect
