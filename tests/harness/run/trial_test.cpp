// Algorithms that are wrong on purpose: each must be caught, by the check meant for it.

#include "harness/run/trial.hpp"

#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "harness/backend/host_backend.hpp"
#include "harness/error.hpp"
#include "harness/workload/rows.hpp"
#include "kselect/registry.hpp"

namespace kselect {
namespace {

using testing::HasSubstr;

const algorithm& right() { return *find_algorithm("cpu/sort")->algorithm; }

// Runs the right algorithm, then `spoil`.
template <auto spoil>
algorithm spoilt() {
  algorithm entry = right();
  entry.name = "test/spoilt";
  entry.enqueue = [](const problem& p, const io& buffers, std::span<std::byte> workspace,
                     const executor& on) -> status {
    const status done = right().enqueue(p, buffers, workspace, on);
    spoil(p, buffers, workspace);
    return done;
  };
  return entry;
}

class Trial : public testing::Test {
 protected:
  Trial() {
    problem_.n = 500;
    problem_.q = 6;
    problem_.k = 20;
    rows_.resize(problem_.input_bytes());
    generate_rows(problem_, rows_, 1);
  }

  std::string verdict_on(const algorithm& entry, int runs = 1) {
    const input_rows input(*place_, rows_);
    trial attempt(entry, problem_, input, *place_);
    for (int i = 0; i < runs; ++i) {
      attempt.prepare();
      EXPECT_TRUE(attempt.run().ok());
    }
    return attempt.disprove();
  }

  problem problem_;
  std::vector<std::byte> rows_;
  std::unique_ptr<backend> place_ = open_backend(executor_kind::cpu, 2);
};

TEST_F(Trial, ProvesARightAnswer) { EXPECT_EQ(verdict_on(right()), ""); }

TEST_F(Trial, CatchesAnAlgorithmThatDoesNothing) {
  algorithm idle = right();
  idle.enqueue = [](const problem&, const io&, std::span<std::byte>, const executor&) -> status {
    return {};
  };
  EXPECT_THAT(verdict_on(idle), HasSubstr("index_range"));
}

// Without fresh poison before every run the first answer would still be there.
TEST_F(Trial, CatchesAnAnswerLeftOverFromAnEarlierRun) {
  static int calls;
  calls = 0;
  algorithm lazy = right();
  lazy.enqueue = [](const problem& p, const io& buffers, std::span<std::byte> workspace,
                    const executor& on) -> status {
    return ++calls == 1 ? right().enqueue(p, buffers, workspace, on) : status{};
  };
  EXPECT_EQ(verdict_on(lazy), "");
  calls = 0;
  EXPECT_THAT(verdict_on(lazy, 2), HasSubstr("wrong"));
}

TEST_F(Trial, CatchesAWorseElement) {
  // The worst of all elements of row 3 in the place of its best.
  constexpr auto swap_in_worst = [](const problem& p, const io& b, std::span<std::byte>) {
    const float* const row = static_cast<const float*>(b.input) + 3 * p.n;
    const auto worst = static_cast<std::int32_t>(std::max_element(row, row + p.n) - row);
    static_cast<float*>(b.values)[3 * p.k] = row[worst];
    static_cast<std::int32_t*>(b.indices)[3 * p.k] = worst;
  };
  EXPECT_THAT(verdict_on(spoilt<swap_in_worst>()), HasSubstr("count"));
}

TEST_F(Trial, CatchesWritesPastAnEnd) {
  const auto past_values = spoilt<[](const problem& p, const io& b, std::span<std::byte>) {
    static_cast<float*>(b.values)[p.q * p.k] = 0;
  }>();
  EXPECT_THAT(verdict_on(past_values), HasSubstr("past the end of values"));
  const auto before_indices = spoilt<[](const problem&, const io& b, std::span<std::byte>) {
    static_cast<std::int32_t*>(b.indices)[-1] = 0;
  }>();
  EXPECT_THAT(verdict_on(before_indices), HasSubstr("before the start of indices"));
  const auto past_workspace = spoilt<[](const problem&, const io&, std::span<std::byte> w) {
    w.data()[w.size() + 5] = std::byte{0};
  }>();
  EXPECT_EQ(verdict_on(past_workspace), "wrote 6 bytes past the end of the workspace");
}

TEST_F(Trial, CatchesAChangedInput) {
  const auto vandal = spoilt<[](const problem&, const io& b, std::span<std::byte>) {
    static_cast<float*>(const_cast<void*>(b.input))[77] = 0.5F;
  }>();
  EXPECT_EQ(verdict_on(vandal), "changed its input");
}

TEST_F(Trial, RestoresTheInputOfAnAlgorithmThatWorksInPlace) {
  algorithm in_place = spoilt<[](const problem& p, const io& b, std::span<std::byte>) {
    std::memset(const_cast<void*>(b.input), 0, p.input_bytes());
  }>();
  in_place.promises.modifies_input = true;
  EXPECT_EQ(verdict_on(in_place, 3), "");
}

TEST_F(Trial, RefusesWhatTheDeclarationExcludes) {
  algorithm small = right();
  small.promises.limits.max_k = 19;
  try {
    verdict_on(small);
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.category(), failure::unsupported);
    EXPECT_THAT(refused.what(), HasSubstr("k > 19"));
  }
}

}  // namespace
}  // namespace kselect
