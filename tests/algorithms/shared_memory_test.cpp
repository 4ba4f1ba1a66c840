// An algorithm can launch every problem it supports: no block needs more shared memory than the
// device has, on current or older cards. Launches are noted but not started, so no GPU is needed.

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "kselect/simt/launch_notes.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

struct card {
  const char* name;
  int multiprocessors, resident_threads, compute_capability;
  std::size_t shared_kib;
};
constexpr card cards[] = {{"T4", 40, 1024, 75, 64},
                          {"RTX 3090", 82, 1536, 86, 99},
                          {"A100", 108, 2048, 80, 163},
                          {"H200", 132, 2048, 90, 227}};

device described(const card& c) {
  device d;
  d.kind = executor_kind::cuda;
  d.name = c.name;
  d.multiprocessors = c.multiprocessors;
  d.resident_threads = c.resident_threads;
  d.compute_capability = c.compute_capability;
  d.shared_bytes = c.shared_kib << 10;
  d.memory_bytes = std::size_t{16} << 30;
  d.cache_bytes = 4 << 20;
  return d;
}

// Calls f for each declared type and payload. Algorithms that read memory between launches cannot
// be noted and are left out.
template <class F>
void for_problems(const algorithm& entry, const F& f) {
  for (const auto& type : names<dtype>) {
    for (const auto& wanted : names<payload>) {
      if (!entry.dtypes.contains(type.value) || !entry.payloads.contains(wanted.value)) continue;
      for (const std::int64_t n : {1000, 4096, 16'384, 1 << 20}) {
        for (const std::int64_t k : {1, 100, 700, 2048, 4096, 8192}) {
          for (const std::int64_t q : {1, 300}) {
            if (k > n) continue;
            problem p = shaped(n, q, k, type.value);
            p.payload = wanted.value;
            if (!entry.layouts.contains(p.layout)) p.layout = layout::column_major;
            if (!entry.index_types.contains(p.index)) p.index = index_type::int64;
            f(p);
          }
        }
      }
    }
  }
}

// The number of launches of a plan; fails if one of them is impossible.
std::size_t expect_launches(const call_plan& plan, const device& where) {
  const executor on{.device = &where};
  simt::launch_notes notes;
  const status noted =
      plan.enqueue({}, std::span(static_cast<std::byte*>(nullptr), plan.workspace()), on);
  EXPECT_TRUE(noted.ok()) << plan.entry()->name << " on " << where.name << ", "
                          << to_string(plan.problem()) << ": " << noted.message;
  return notes.launches.size();
}

class SharedMemory : public testing::TestWithParam<card> {};

TEST_P(SharedMemory, WhatIsSupportedFits) {
  const device where = described(GetParam());
  std::size_t launches = 0;
  for (const registered& row : registry()) {
    const algorithm& entry = *row.algorithm;
    if (!entry.executors.contains(executor_kind::cuda) || !entry.missing.empty()) continue;
    if (entry.promises.synchronises || !entry.executors.contains(executor_kind::fiber)) continue;
    for_problems(entry, [&](const problem& p) {
      const call_plan plan = plan_call(entry, p, where);
      if (plan) launches += expect_launches(plan, where);
    });
  }
  EXPECT_GT(launches, 1000U);
}

std::string name_of(const testing::TestParamInfo<card>& info) {
  return std::to_string(info.param.shared_kib) + "KiB";
}
INSTANTIATE_TEST_SUITE_P(Cards, SharedMemory, testing::ValuesIn(cards), name_of);

support asked(const char* name, const card& c, const problem& p) {
  return check_support(*find_algorithm(name)->algorithm, p, described(c));
}

// A problem that needs more than 64 KiB is rejected on older cards; the reason states the numbers.
TEST(SharedMemoryOfABlock, OfAnOlderCardIsTooLittleForSome) {
  const card &t4 = cards[0], &rtx = cards[1];
  const problem wide = shaped(65'536, 8, 2048, dtype::float64);
  const problem long_answers = shaped(65'536, 8, 4096);
  EXPECT_EQ(asked("truncated-bitonic", t4, wide).reason,
            "a block needs 73728 bytes of shared memory and has 65536 on this device");
  EXPECT_TRUE(asked("truncated-bitonic", rtx, wide));
  EXPECT_FALSE(asked("bitonic-merge", t4, long_answers));
  EXPECT_TRUE(asked("bitonic-merge", rtx, long_answers));
  EXPECT_FALSE(asked("qms-block+w32", t4, wide));
  EXPECT_TRUE(asked("qms-block+w32", rtx, wide));
  EXPECT_TRUE(asked("qms-block", t4, shaped(1 << 20, 1, 2048, dtype::float64)));  // fewer warps
  EXPECT_TRUE(asked("auto", t4, wide));
}

TEST(SharedMemoryOfABlock, ALaunchThatAsksForMoreThanTheDeviceHasFails) {
  device small = described(cards[0]);
  const registered* const sort = find_algorithm("truncated-bitonic");
  ASSERT_NE(sort, nullptr);
  const call_plan plan = sort->algorithm->plan(shaped(65'536, 1, 512), small);
  small.shared_bytes = 1 << 10;
  simt::launch_notes notes;
  const status refused = plan.enqueue({}, {}, executor{.device = &small});
  EXPECT_EQ(refused.code, status_code::failed);
  EXPECT_NE(refused.message.find("a block has 1024 on this device"), std::string::npos)
      << refused.message;
}

}  // namespace
}  // namespace kselect
