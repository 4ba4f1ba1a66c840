// Fibers run the kernels that a GPU runs: the plans for the device that fibers stand for launch no
// instance that no plan for a GPU does. Launches are noted but not started.

#include "kselect/simt/test_device.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "kselect/simt/device_size.hpp"
#include "kselect/simt/launch_notes.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

device gpu(int multiprocessors, int resident_threads) {
  device d;
  d.kind = executor_kind::cuda;
  d.multiprocessors = multiprocessors;
  d.resident_threads = resident_threads;
  d.compute_capability = 90;
  d.shared_bytes = 227 << 10;
  return d;
}

// Adds the kernels that plans of an entry launch for rows of some type and lengths.
void note(const algorithm& entry, dtype type, const device& where, std::set<std::string>& kernels) {
  const executor on{.device = &where};
  for (const std::int64_t n : {100, 1000, 3000, 20'000, 1 << 20}) {
    for (const std::int64_t k :
         {std::int64_t{1}, std::int64_t{20}, std::int64_t{300}, std::int64_t{8400}, n / 3}) {
      for (const std::int64_t q : {1, 3, 40, 1000}) {
        for (const bool ragged : {false, true}) {
          problem p = shaped(n, q, std::min(k, n), type);
          if (ragged) p.lengths = row_numbers::int32;
          if (!entry.layouts.contains(p.layout)) p.layout = layout::column_major;
          if (!entry.index_types.contains(p.index)) p.index = index_type::int64;
          if (!entry.payloads.contains(p.payload)) p.payload = payload::values;
          const call_plan plan = plan_call(entry, p, where);
          if (!plan) continue;
          const simt::launch_notes notes;
          const auto memory = std::span(static_cast<std::byte*>(nullptr), plan.workspace());
          ASSERT_TRUE(plan.enqueue({}, memory, on).ok()) << entry.name << ", " << to_string(p);
          for (const auto& launch : notes.launches) kernels.insert(launch.kernel);
        }
      }
    }
  }
}

TEST(TestDevice, FibersRunNoInstanceThatAGpuDoesNot) {
  const device fibers = simt::test_device(1);
  std::set<std::string> here, there;
  for (const registered& row : registry()) {
    const algorithm& entry = *row.algorithm;
    const bool both = entry.executors.contains(executor_kind::fiber) &&
                      entry.executors.contains(executor_kind::cuda);
    if (!both || entry.promises.synchronises || !entry.missing.empty()) continue;
    for (const dtype type : {dtype::float32, dtype::float16, dtype::float64, dtype::int8}) {
      if (!entry.dtypes.contains(type)) continue;
      note(entry, type, fibers, here);
      for (const device& card : {gpu(132, 2048), gpu(40, 1024)}) note(entry, type, card, there);
    }
  }
  for (const std::string& kernel : here) EXPECT_TRUE(there.contains(kernel)) << kernel;
  EXPECT_GT(here.size(), 200U);
}

// On every GPU the numbers are the constants.
TEST(TestDevice, SizesOfGpusAreTheConstants) {
  for (const device& card : {gpu(40, 1024), gpu(82, 1536), gpu(132, 2048)}) {
    EXPECT_EQ(simt::busy_threads(card), 1024);
    EXPECT_EQ(simt::block_threads(card, 1024), 1024);
    EXPECT_EQ(simt::block_threads(card, 128), 128);
    EXPECT_EQ(simt::long_row(card), 16384);
    EXPECT_EQ(simt::resident_warps(card, 24), 24 * card.multiprocessors);
    EXPECT_EQ(simt::resident_blocks(card, 256),
              card.multiprocessors * (card.resident_threads / 256));
  }
}

TEST(TestDevice, IsSmall) {
  const device fibers = simt::test_device(3);
  EXPECT_EQ(fibers.kind, executor_kind::fiber);
  EXPECT_EQ(fibers.threads, 3);
  EXPECT_EQ(simt::busy_threads(fibers), 96);
  EXPECT_EQ(simt::block_threads(fibers, 512), 64);
  EXPECT_EQ(simt::block_threads(fibers, 32), 32);
  EXPECT_EQ(simt::long_row(fibers), 1536);
  EXPECT_EQ(simt::resident_warps(fibers, 24), 12);
  EXPECT_EQ(simt::resident_blocks(fibers, 64), 4);
  EXPECT_EQ(simt::resident_blocks(fibers, 1024), 1);
}

}  // namespace
}  // namespace kselect
