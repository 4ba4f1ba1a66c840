// The adapters of CUB's top-k, compiled against stand-ins for CCCL's headers (standins/): what they
// hand over and take back is proven; CUB itself is not run.

#define KSELECT_CUB_STANDIN 1
#define cub_topk cub_topk_of_standins  // beside the library's own entries
#include "baselines/cub_topk.cu"
#undef cub_topk

#include <gmock/gmock.h>

#include "kselect/registry.hpp"
#include "tests/baselines/adapters.hpp"

namespace kselect {
namespace {

using testing_adapters::sized;

constexpr std::size_t by_row = 0, batched = 1;

algorithm entry(std::size_t which) {
  return testing_adapters::on_host(entries::cub_topk_of_standins()[which]);
}

TEST(CubTopk, HandsOverRowsOfEveryTypeAndDirection) {
  const auto place = open_backend(executor_kind::fiber, 1);
  workload pitched = sized(100, 5, 7);
  pitched.pitch = 103;
  for (const std::size_t which : {by_row, batched}) {
    EXPECT_EQ(entry(which).missing, "");
    for (const workload& p : {sized(1, 1, 1), sized(300, 3, 300), sized(4096, 2, 9), pitched}) {
      EXPECT_EQ(testing_adapters::prove_all(entry(which), p, *place), 24U) << entry(which).name;
    }
  }
  // Values of 8 bytes, or indices, leave a block half as many.
  EXPECT_EQ(testing_adapters::prove_all(entry(batched), sized(8192, 2, 8192), *place), 8U);
}

TEST(CubTopk, SegmentsHaveTheTightestBound) {
  const auto place = open_backend(executor_kind::fiber, 1);
  struct expected {
    std::int64_t n, bound;
    bool is_constant;
  };
  for (const auto& [n, bound, is_constant] : {expected{1, 256, false},
                                              {256, 256, true},
                                              {257, 1024, false},
                                              {784, 1024, false},
                                              {1024, 1024, true},
                                              {1025, 2048, false},
                                              {4096, 4096, true},
                                              {4097, 8192, false},
                                              {8192, 8192, true}}) {
    testing_adapters::prove(entry(batched), sized(n, 2, 1), *place);
    EXPECT_EQ(cub::standin().bound, bound) << n;
    EXPECT_EQ(cub::standin().is_constant, is_constant) << n;
  }
}

TEST(CubTopk, StatesItsLimits) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto reason = [&](std::size_t which, const workload& p) {
    return check_support(entry(which), p, place->description()).reason;
  };
  workload p = sized(8193, 2, 5);
  EXPECT_EQ(reason(by_row, p), "");
  EXPECT_EQ(reason(batched, p), "n > 8192: CUB gives a segment one block");
  p.n = 8192;
  EXPECT_EQ(reason(batched, p), "");
  p.index = index_type::int64;
  EXPECT_EQ(reason(batched, p), "n > 4096: CUB gives a segment one block");
  p.payload = payload::values;
  EXPECT_EQ(reason(batched, p), "");
  p.type = dtype::float64;
  EXPECT_EQ(reason(batched, p), "n > 4096: CUB gives a segment one block");
  EXPECT_EQ(reason(batched, sized(10, std::int64_t{1} << 31, 5)), "Q > 2147483647");
}

TEST(CubTopk, WorkspaceIsWhatCubSays) {
  const device where;
  for (const std::size_t which : {by_row, batched}) {
    for (const payload answer : {payload::values, payload::values_and_indices}) {
      workload p = sized(100, 2, 5);
      p.payload = answer;
      EXPECT_EQ(entry(which).plan(p, where).workspace(), cub::scratch_bytes);
    }
  }
}

TEST(CubTopk, RunsOnTheExecutorsStream) {
  workload p = sized(4, 1, 2);
  p.payload = payload::values;
  std::vector<float> input = {3, 1, 2, 4}, values(2);
  std::vector<std::byte> memory(cub::scratch_bytes);
  executor on;
  on.stream = input.data();  // any address: the stand-in only keeps it
  for (const std::size_t which : {by_row, batched}) {
    cub::standin().stream = nullptr;
    const call_plan plan = entry(which).plan(p, device{});
    ASSERT_TRUE(plan.enqueue({input.data(), values.data(), nullptr}, memory, on).ok());
    EXPECT_EQ(static_cast<void*>(cub::standin().stream), on.stream);
    EXPECT_THAT(values, testing::UnorderedElementsAre(1, 2));
  }
}

TEST(CubTopk, IsListedWithTheReasonWhereItIsMissing) {
  for (const char* const name : {"cub-topk", "cub-batched-topk"}) {
    const auto listed = match_algorithms(name);
    ASSERT_EQ(listed.size(), 1U);
    const std::string missing(listed[0]->algorithm->missing);
    if (missing.empty()) continue;  // this build's CCCL has it
    EXPECT_THAT(missing, testing::HasSubstr("KSELECT_CCCL"));
  }
}

}  // namespace
}  // namespace kselect
