#include "harness/backend/host_ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/backend/host_memory.hpp"

namespace kselect {
namespace {

constexpr std::size_t line = 64;
constexpr int passes = 8;
constexpr int cached_passes = 200;

double seconds_of(const std::function<void()>& work) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  work();
  return std::chrono::duration<double>(clock::now() - begin).count();
}

double best_seconds(int count, const std::function<void()>& work) {
  double best = seconds_of(work);
  for (int i = 1; i < count; ++i) best = std::min(best, seconds_of(work));
  return best;
}

std::uint64_t sum(const std::uint64_t* data, std::size_t count) {
  return std::accumulate(data, data + count, std::uint64_t{0});
}

// Keeps a sum that nobody reads from being optimised away.
void use(std::uint64_t value) { asm volatile("" ::"r"(value) : "memory"); }

}  // namespace

memory_ceilings measure_host_ceilings(int threads, std::size_t cache_bytes) {
  // Four caches' worth leaves little of a block from one pass to the next; where that is more than
  // a moment's work or than is there, the ceiling comes out a little high, which is the safe side.
  const std::size_t wanted = std::clamp<std::size_t>(4 * cache_bytes, 64 << 20, 256 << 20);
  const std::size_t there = available_memory() / 4;
  const std::size_t share = std::min(wanted, std::max<std::size_t>(there, 16 << 20)) /
                            static_cast<std::size_t>(threads) / 4096 * 4096;
  const host_buffer block(share * static_cast<std::size_t>(threads));
  const auto part = [&](int t) { return block.data() + static_cast<std::size_t>(t) * share; };
  const auto on_all = [&](const auto& work) {
    return best_seconds(passes, [&] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int t = 0; t < threads; ++t) work(part(t));
    });
  };
  const auto bytes = static_cast<double>(block.size());
  on_all([&](std::byte* mine) { std::memset(mine, 1, share); });  // pages exist from here on

  memory_ceilings found;
  found.read = bytes / on_all([&](const std::byte* mine) {
                 use(sum(reinterpret_cast<const std::uint64_t*>(mine), share / 8));
               });
  found.copy = bytes / on_all([&](std::byte* mine) {
                 std::memcpy(mine + share / 2, mine, share / 2);
                 use(0);
               });
  // Caches are each thread's own, so one thread's rate counts for all; and its passes are so short
  // that other programs do not get into the best of them.
  constexpr std::size_t small = 16 << 10;
  constexpr int repeats = 64;
  const double one_thread = best_seconds(cached_passes, [&] {
    for (int i = 0; i < repeats; ++i) {
      use(sum(reinterpret_cast<const std::uint64_t*>(block.data()), small / 8));
    }
  });
  found.cached_read = static_cast<double>(small) * repeats * threads / one_thread;
  return found;
}

void evict_host(std::span<const memory_range> ranges) {
#if defined(__x86_64__)
  for (const memory_range range : ranges) {
    for (std::size_t at = 0; at < range.size(); at += line) _mm_clflush(range.data() + at);
    if (!range.empty()) _mm_clflush(range.data() + range.size() - 1);
  }
  _mm_mfence();
#else
  // No such instruction for everybody: reading more than any cache holds pushes the ranges out.
  static_cast<void>(ranges);
  static const host_buffer other = [] {
    host_buffer block(std::size_t{512} << 20);
    std::memset(block.data(), 1, block.size());
    return block;
  }();
  for (std::size_t at = 0; at < other.size(); at += line) {
    use(static_cast<std::uint64_t>(std::to_integer<int>(other.data()[at])));
  }
#endif
}

}  // namespace kselect
