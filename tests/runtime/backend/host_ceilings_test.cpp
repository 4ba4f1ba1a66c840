#include "runtime/backend/host_ceilings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/environment_variable.hpp"

namespace kselect::runtime {
namespace {

// Nanoseconds of a walk through all of `next`, in which every step depends on the previous one. The
// checks of sanitizers would take as long as the memory.
__attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined"))) double walk_ns(
    const std::vector<std::size_t>& next) {
  const std::size_t* const steps = next.data();
  const std::size_t count = next.size();
  const auto begin = std::chrono::steady_clock::now();
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) at = steps[at];
  const auto end = std::chrono::steady_clock::now();
  EXPECT_EQ(at, 0U) << "one cycle through all";
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

TEST(HostCeilings, EvictedMemoryIsSlowToReach) {
  // One random cycle, which prefetchers cannot predict, in 512 KiB, which fit in a cache.
  std::vector<std::size_t> order(1 << 16), next(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < order.size(); ++i) next[order[i]] = order[(i + 1) % order.size()];
  double warm = 1e18, cold = 1e18;
  const std::array ranges = {std::as_bytes(std::span(next))};
  for (int i = 0; i < 10; ++i) {
    walk_ns(next);
    warm = std::min(warm, walk_ns(next));
    evict_host(ranges);
    cold = std::min(cold, walk_ns(next));
  }
  EXPECT_GT(cold, 2 * warm);
}

TEST(HostCeilings, AreOfThisWorld) {
  const memory_ceilings found = measure_host_ceilings(2, std::size_t{8} << 20);
  EXPECT_GT(found.read, 1e8);
  EXPECT_LT(found.read, 2e12);
  EXPECT_GT(found.copy, 1e8);
  EXPECT_GT(found.cached_read, found.read) << "caches are faster than memory";
}

// The variable of the block's size for as long as this lives.
struct block_of : test::environment_variable {
  explicit block_of(const char* mib) : environment_variable(ceiling_block_variable, mib) {}
};

TEST(HostCeilings, OfASmallBlockAreThoseOfCaches) {
  const memory_ceilings memory = measure_host_ceilings(1, std::size_t{64} << 20);
  const block_of small("1");
  const memory_ceilings caches = measure_host_ceilings(1, std::size_t{64} << 20);
  EXPECT_GT(caches.read, memory.read);
  EXPECT_GT(caches.copy, 1e8);
  EXPECT_GT(caches.cached_read, 1e8);
  EXPECT_GT(measure_host_ceilings(300, 0).copy, 0) << "each thread has a page at least";
}

TEST(HostCeilings, OfNoBlockAreRefused) {
  for (const char* const wrong : {"0", "257", "-1", "one", "1 MiB", "99999999999999999999"}) {
    const block_of none(wrong);
    EXPECT_THROW(measure_host_ceilings(1, 0), error) << wrong;
  }
}

TEST(HostCeilings, ReadingTakesLongerWhereThereIsMore) {
  const std::vector<std::byte> block(std::size_t{32} << 20, std::byte{1});
  double all = 1e18, part = 1e18;
  for (int i = 0; i < 10; ++i) {
    all = std::min(all, seconds_to_read(block, 1));
    part = std::min(part, seconds_to_read(std::span(block).first(block.size() / 8), 1));
  }
  EXPECT_GT(all, 2 * part);
  EXPECT_GT(part, 1e-6);
}

// A sanitizer also shows that nothing beyond is read.
TEST(HostCeilings, ReadingSeesEveryByte) {
  std::vector<std::size_t> sizes(700);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (const std::size_t more : {0, 1, 255, 256, 4099}) sizes.push_back((128 << 10) + more);
  for (const std::size_t size : sizes) {
    std::vector<std::byte> block(size);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) {
      block[i] = static_cast<std::byte>(37 * i + 1);
      const std::size_t within = std::endian::native == std::endian::little ? i % 8 : 7 - i % 8;
      expected += std::to_integer<std::uint64_t>(block[i]) << 8 * within;
    }
    ASSERT_EQ(sum_of_words(block), expected) << size << " bytes";
  }
}

TEST(HostCeilings, ReadingByThreadsStaysWithinItsBytes) {
  for (std::size_t size = 0; size < 700; size += 7) {
    const std::vector<std::byte> block(size, std::byte{1});
    for (const int threads : {1, 2, 3}) EXPECT_GE(seconds_to_read(block, threads, 2), 0);
  }
}

}  // namespace
}  // namespace kselect::runtime
