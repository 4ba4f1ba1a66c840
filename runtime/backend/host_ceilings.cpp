#include "runtime/backend/host_ceilings.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/backend/host_memory.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

constexpr std::size_t line = 64;
constexpr int passes = 8;
constexpr int cached_passes = 200;

using clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto begin = clock::now();
  work();
  return std::chrono::duration<double>(clock::now() - begin).count();
}

template <class Seconds>
double least_of(int count, const Seconds& seconds) {
  double least = seconds();
  for (int i = 1; i < count; ++i) least = std::min(least, seconds());
  return least;
}

// Adds up with the widest vectors and with several sums. `fetching`: prefetches lines, because
// hardware prefetchers stop at the end of a page.
template <bool fetching>
std::uint64_t sum_of(const std::byte* data, std::size_t bytes) {
#if defined(__AVX512F__)
  constexpr std::size_t width = 64;
#elif defined(__AVX__)
  constexpr std::size_t width = 32;
#else
  constexpr std::size_t width = 16;
#endif
  typedef std::uint64_t vector __attribute__((vector_size(width), aligned(1), may_alias));
  constexpr std::size_t lanes = 4, step = 4 * line, ahead = 8192;
  vector sums[lanes] = {};
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    for (std::size_t i = 0; i < step && fetching; i += line) {
      __builtin_prefetch(reinterpret_cast<const void*>(address + at + ahead + i));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < step / width; ++i) {
      sums[i % lanes] += *reinterpret_cast<const vector*>(data + at + i * width);
    }
  }
  const vector all = sums[0] + sums[1] + sums[2] + sums[3];
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < width / sizeof total; ++i) total += all[i];
  for (; at < bytes; at += sizeof total) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof word, bytes - at));
    total += word;
  }
  return total;
}

// The bytes of the block that ceilings are measured on, before they are divided among threads.
std::size_t block_bytes(std::size_t cache_bytes) {
  constexpr std::size_t most = 256 << 20;
  if (const std::string text = ceiling_block(); !text.empty()) {
    std::size_t mib = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), mib);
    if (wrong == std::errc{} && end == text.data() + text.size() && mib >= 1 && mib <= most >> 20)
      return mib << 20;
    throw error(failure::usage, std::string(ceiling_block_variable) + "=" + text +
                                    ": give a number of MiB from 1 to 256, or unset it");
  }
  // With four times the cache's size, little of a block is still cached in the next pass. The clamp
  // and the available memory may make the block smaller. Then the ceiling is a little too high,
  // which is the safe side.
  const std::size_t there = available_memory() / 4;
  return std::min(std::clamp<std::size_t>(4 * cache_bytes, 64 << 20, most),
                  std::max<std::size_t>(there, 16 << 20));
}

// Keeps the compiler from removing a sum that nobody reads.
void use(std::uint64_t value) { asm volatile("" ::"r"(value) : "memory"); }

}  // namespace

std::uint64_t sum_of_words(memory_range bytes) {
  constexpr std::size_t near = 128 << 10;  // here a prefetch would only add instructions
  return bytes.size() <= near ? sum_of<false>(bytes.data(), bytes.size())
                              : sum_of<true>(bytes.data(), bytes.size());
}

double seconds_to_read(memory_range bytes, int threads, int readings) {
  const std::size_t lines = (bytes.size() + line - 1) / line;
  const std::size_t part =
      (lines + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads) * line;
  clock::time_point begin, end;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
#pragma omp barrier
#pragma omp master
    begin = clock::now();
#pragma omp barrier
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      const std::size_t first = std::min(static_cast<std::size_t>(t) * part, bytes.size());
      const memory_range mine = bytes.subspan(first, std::min(part, bytes.size() - first));
      for (int i = 0; i < readings; ++i) use(sum_of_words(mine));
    }
#pragma omp master
    end = clock::now();
  }
  return std::chrono::duration<double>(end - begin).count() / readings;
}

std::string ceiling_block() {
  const char* const said = std::getenv(ceiling_block_variable);
  return said == nullptr ? "" : said;
}

memory_ceilings measure_host_ceilings(int threads, std::size_t cache_bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t pages = block_bytes(cache_bytes) / static_cast<std::size_t>(threads) / page;
  const std::size_t share = std::max<std::size_t>(pages, 1) * page;
  const host_buffer block(share * static_cast<std::size_t>(threads));
  const auto part = [&](int t) { return block.data() + static_cast<std::size_t>(t) * share; };
  const auto on_all = [&](const auto& work) {
    return seconds_of([&] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int t = 0; t < threads; ++t) work(part(t));
    });
  };
  const auto bytes = static_cast<double>(block.size());
  on_all([&](std::byte* mine) { std::memset(mine, 1, share); });  // allocates the pages

  memory_ceilings found;
  const memory_range whole{block.data(), block.size()};
  found.read = bytes / least_of(passes, [&] { return seconds_to_read(whole, threads); });
  found.copy = bytes / least_of(passes, [&] {
                 return on_all([&](std::byte* mine) {
                   std::memcpy(mine + share / 2, mine, share / 2);
                   use(0);
                 });
               });
  // The innermost caches are private to a core, so one thread's rate is multiplied by the threads.
  // The passes are so short that the best one is not disturbed by other programs.
  constexpr std::size_t small = 16 << 10;
  constexpr int repeats = 64;
  const double one_thread =
      least_of(cached_passes, [&] { return seconds_to_read(whole.first(small), 1, repeats); });
  found.cached_read = static_cast<double>(small) * threads / one_thread;
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
  // There is no portable instruction for this. Reading more than any cache holds evicts the ranges.
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

}  // namespace kselect::runtime
