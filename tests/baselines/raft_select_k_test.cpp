// The adapter of RAFT's select_k, compiled against stand-ins for RAFT's headers (standins/): what
// it hands over and takes back is proven; RAFT itself is not run.

#define KSELECT_HAS_RAFT 1
#define raft_select_k raft_select_k_of_standins  // beside the library's own entries
#include "baselines/raft_select_k.cu"
#undef raft_select_k

#include <gmock/gmock.h>

#include "kselect/registry.hpp"
#include "tests/baselines/adapters.hpp"

namespace kselect {
namespace {

using raft::matrix::SelectAlgo;
using raft::matrix::standin;

using testing_adapters::sized;

TEST(RaftSelectK, HandsOverRowsOfEveryTypeAndDirection) {
  const auto place = open_backend(executor_kind::fiber, 1);
  for (const algorithm& listed : entries::raft_select_k_of_standins()) {
    EXPECT_EQ(listed.missing, "");
    const algorithm entry = testing_adapters::on_host(listed);
    for (const workload& p : {sized(100, 5, 7), sized(1, 1, 1), sized(300, 3, 256)}) {
      EXPECT_EQ(testing_adapters::prove_all(entry, p, *place), 24U) << entry.name;
    }
  }
}

TEST(RaftSelectK, EachVariantAsksForItsAlgorithm) {
  standin().asked.clear();
  const auto place = open_backend(executor_kind::fiber, 1);
  for (const algorithm& listed : entries::raft_select_k_of_standins()) {
    testing_adapters::prove(testing_adapters::on_host(listed), sized(10, 2, 3), *place);
  }
  EXPECT_THAT(standin().asked,
              testing::ElementsAre(SelectAlgo::kAuto, SelectAlgo::kRadix8bits,
                                   SelectAlgo::kRadix11bits, SelectAlgo::kRadix11bitsExtraPass,
                                   SelectAlgo::kWarpImmediate, SelectAlgo::kWarpFiltered,
                                   SelectAlgo::kWarpDistributed, SelectAlgo::kWarpDistributedShm));
}

TEST(RaftSelectK, StatesItsLimits) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto all = entries::raft_select_k_of_standins();
  const auto reason = [&](std::size_t which, const workload& p) {
    return check_support(testing_adapters::on_host(all[which]), p, place->description()).reason;
  };
  constexpr std::size_t automatic = 0, radix = 2, warp = 5;
  workload p = sized(1000, 2, 257);
  EXPECT_EQ(reason(warp, p), "k > 256");
  EXPECT_EQ(reason(radix, p), "");
  EXPECT_EQ(reason(automatic, p), "");
  p = sized(1000, 2, 5);
  p.pitch = 1001;
  EXPECT_EQ(reason(radix, p), "rows with a pitch: RAFT takes dense ones");
  p.pitch = 0;
  p.distribution = {distribution_kind::inf_fraction, 0.5};
  EXPECT_EQ(reason(radix, p), "");
  EXPECT_EQ(reason(warp, p), "rows may hold infinities, which the contract excludes");
  EXPECT_EQ(reason(automatic, p), "rows may hold infinities, which the contract excludes");
}

TEST(RaftSelectK, ScratchIsCountedAndBoundedByTheWorkspace) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const algorithm entry = testing_adapters::on_host(entries::raft_select_k_of_standins()[2]);
  workload p = sized(100, 2, 5);
  // Two arrays of 808 bytes, in units of 256; without indices 40 bytes of them, too.
  EXPECT_EQ(entry.plan(p, place->description()).workspace(), 2048U);
  p.payload = payload::values;
  EXPECT_EQ(entry.plan(p, place->description()).workspace(), 2048U + 256U);

  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, 1);
  const input_rows input(*place, rows);
  trial attempt(entry, p, input, *place);
  attempt.prepare();
  standin().undeclared_bytes = 512;
  const status result = attempt.run();
  standin().undeclared_bytes = 0;
  EXPECT_EQ(result.code, status_code::failed);
  EXPECT_EQ(result.message, "raft::matrix::select_k took more memory than its dry run said");
}

TEST(RaftSelectK, IsListedWithTheReasonWhereItIsMissing) {
  const auto listed = match_algorithms("raft/*");
  ASSERT_EQ(listed.size(), 8U);
  for (const registered* row : listed) {
    if (row->algorithm->missing.empty()) GTEST_SKIP() << "this build has RAFT";
    EXPECT_THAT(std::string(row->algorithm->missing), testing::HasSubstr("RAFT"));
  }
}

}  // namespace
}  // namespace kselect
