// Plans as values: decisions that come back unchanged, refusals with their reasons, members' plans,
// and agreement of every entry's plan with what it may do.

#include "kselect/call_plan.hpp"

#include <array>
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "kselect/algorithm.hpp"
#include "kselect/registry.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

using testing::HasSubstr;

struct decisions {
  std::int64_t first;
  double second;
};

// Hands back what it was given, so that a test sees it.
status report(const decisions& d, const problem& p, const io&, std::span<std::byte> memory,
              const executor&) {
  return {status_code::failed, std::to_string(d.first) + " " + std::to_string(d.second) + " " +
                                   to_string(p) + " " + std::to_string(memory.size())};
}
status report_problem(const problem& p, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, to_string(p)};
}

TEST(CallPlan, StartsCallsFromItsDecisions) {
  const problem p = shaped(100, 2, 3);
  const call_plan plan = call_plan::of<&report>(p, 512, decisions{7, 0.5});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan.reason(), "");
  EXPECT_EQ(plan.workspace(), 512U);
  EXPECT_EQ(plan.problem(), p);
  EXPECT_EQ(plan.bytes_of_decisions(), sizeof(decisions));
  const call_plan kept = plan;
  std::array<std::byte, 512> memory{};
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(kept.enqueue({}, memory, {}).message, "7 0.500000 " + to_string(p) + " 512");
  }
  const call_plan bare = call_plan::of<&report_problem>(p);
  EXPECT_EQ(bare.workspace(), 0U);
  EXPECT_EQ(bare.enqueue({}, {}, {}).message, to_string(p));
}

TEST(CallPlan, IsRefusedWithAReasonThatCallsRepeat) {
  const call_plan refused = call_plan::refused("k > 512");
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.reason(), "k > 512");
  EXPECT_EQ(refused.workspace(), 0U);
  EXPECT_EQ(refused.bytes_of_decisions(), 0U);
  const status called = refused.enqueue({}, {}, {});
  EXPECT_EQ(called.code, status_code::unsupported);
  EXPECT_EQ(called.message, "k > 512");
  EXPECT_FALSE(call_plan{});
  EXPECT_EQ(call_plan{}.reason(), "no plan was made");
  const std::string endless(1000, 'x');
  EXPECT_EQ(call_plan::refused(endless).reason(), endless.substr(0, 568));
}

TEST(CallPlan, OfAMemberIsKeptInAPlan) {
  const member_plan member(call_plan::of<&report>(shaped(9, 1, 1), 64, decisions{1, 2}));
  ASSERT_TRUE(member);
  EXPECT_EQ(member.workspace(), 64U);
  EXPECT_THAT(member.enqueue({}, {}, {}).message, HasSubstr("1 2.0"));
  EXPECT_EQ(member_plan(call_plan::refused("why")).reason(), "why");
  struct large {
    std::array<std::byte, 300> bytes;
  };
  constexpr auto start = [](const large&, const problem&, const io&, std::span<std::byte>,
                            const executor&) { return status{}; };
  const member_plan too_large(call_plan::of<start>(shaped(9, 1, 1), 0, large{}));
  EXPECT_FALSE(too_large);
  EXPECT_THAT(std::string(too_large.reason()), HasSubstr("has no room"));
}

// Entries that cannot be asked without their library are left out.
TEST(CallPlan, OfEveryEntryNamesItAndIsMadeAlike) {
  for (const registered& row : registry()) {
    const algorithm& entry = *row.algorithm;
    if (!entry.missing.empty()) continue;
    for (const auto& kind : names<executor_kind>) {
      if (!entry.executors.contains(kind.value)) continue;
      device where;
      where.kind = kind.value;
      where.name = "a device";
      where.threads = 3;
      where.multiprocessors = 132;
      where.shared_bytes = 227 << 10;
      for (const std::int64_t n : {33, 5000, 1 << 18}) {
        problem p = shaped(n, 2, 5);
        if (!entry.layouts.contains(p.layout)) p.layout = layout::column_major;
        if (!entry.payloads.contains(p.payload)) p.payload = payload::kth_value;
        const call_plan plan = plan_call(entry, p, where);
        if (!plan) {
          EXPECT_EQ(check_support(entry, p, where).reason, plan.reason());
          continue;
        }
        ASSERT_NE(plan.entry(), nullptr) << entry.name;
        EXPECT_EQ(plan.problem(), p) << entry.name;
        EXPECT_TRUE(check_support(entry, p, where)) << entry.name;
        const call_plan again = plan_call(entry, p, where);
        EXPECT_EQ(plan.workspace(), again.workspace()) << entry.name;
        EXPECT_EQ(plan.bytes_of_decisions(), again.bytes_of_decisions()) << entry.name;
      }
    }
  }
}

// An entry that writes pairs is given memory for the values that nobody wants.
TEST(CallPlan, OfIndicesAloneAddsMemoryForTheValuesOfAnEntryThatWritesThem) {
  constexpr auto start = [](const problem& p, const io& to, std::span<std::byte> memory,
                            const executor&) {
    EXPECT_EQ(p.payload, payload::values_and_indices);
    EXPECT_EQ(memory.size(), 300U);
    EXPECT_EQ(static_cast<std::byte*>(to.values) - memory.data(), 512);
    return status{status_code::ok, "started"};
  };
  algorithm pairs;
  pairs.name = "pairs";
  pairs.executors = set_of(executor_kind::cpu);
  pairs.plan = [](const problem& p, const device&) { return call_plan::of<start>(p, 300); };
  problem p = shaped(9, 2, 5, dtype::float64);
  p.type = dtype::float32;
  p.payload = payload::indices;
  const call_plan plan = plan_call(pairs, p, device{});
  ASSERT_TRUE(plan) << plan.reason();
  EXPECT_EQ(plan.problem(), p);
  EXPECT_EQ(plan.entry(), &pairs);
  EXPECT_EQ(plan.workspace(), 512U + 2 * 5 * 4);
  std::vector<std::byte> memory(plan.workspace());
  EXPECT_EQ(plan.enqueue({}, memory, {}).message, "started");
  pairs.payloads = set_of(payload::values);
  EXPECT_EQ(plan_call(pairs, p, device{}).reason(), "payload indices is not supported");
}

// Composed entries keep their members' plans, which have less room.
TEST(CallPlan, OfComposedEntriesHasRoomForTheirMembers) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.name = "NVIDIA H200";
  gpu.multiprocessors = 132;
  gpu.shared_bytes = 227 << 10;
  for (const char* name : {"auto", "auto+sorted", "auto+stable", "bms-warp+stable",
                           "bms-block+stable", "bms-grid+stable"}) {
    const registered* const found = find_algorithm(name);
    if (found == nullptr) continue;  // left out of the build
    for (const std::int64_t n : {500, 1 << 17, 1 << 24}) {
      const call_plan plan = plan_call(*found->algorithm, shaped(n, 1, 64), gpu);
      EXPECT_THAT(std::string(plan.reason()), Not(HasSubstr("no room"))) << name << ", n = " << n;
    }
  }
}

}  // namespace
}  // namespace kselect
