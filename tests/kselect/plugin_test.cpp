#include "kselect/plugin.hpp"

#include <gtest/gtest.h>

namespace kselect {
namespace {

// The sizes of plug-in ABI 5 on 64-bit Linux with libstdc++. If one of them changes, or the meaning
// of a member does, raise plugin_abi and write the new sizes here: plug-ins that were built before
// are then refused with a sentence instead of read wrongly.
TEST(Plugin, TheLayoutOfThisAbiIsFixed) {
  ASSERT_EQ(plugin_abi, 5U);
  const plugin_sizes s;
  EXPECT_EQ(s.algorithm, 160U);
  EXPECT_EQ(s.contract, 48U);
  EXPECT_EQ(s.problem, 72U);
  EXPECT_EQ(s.device, 80U);
  EXPECT_EQ(s.executor, 24U);
  EXPECT_EQ(s.io, 64U);
  EXPECT_EQ(s.status, 40U);
  EXPECT_EQ(s.call_plan, 672U);
  EXPECT_EQ(s.fiber_options, 56U);
  EXPECT_EQ(s.counters, 184U);
  EXPECT_EQ(s.string, 32U);
}

// What every version reads of every other.
TEST(Plugin, TheHeadKeepsItsPlace) {
  EXPECT_EQ(offsetof(plugin, mark), 0U);
  EXPECT_EQ(offsetof(plugin, abi), 8U);
  EXPECT_EQ(offsetof(plugin, bytes), 12U);
  EXPECT_EQ(offsetof(plugin, version), 16U);
  EXPECT_EQ(offsetof(plugin, compiler), 24U);
}

}  // namespace
}  // namespace kselect
