// Deliberately wrong algorithms: each must be caught by the check meant for it.

#include "harness/run/trial.hpp"

#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "harness/workload/rows.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "tests/harness/run/calling.hpp"
#include "tests/harness/run/fibers_in_place.hpp"

namespace kselect::harness {
namespace {

using testing::HasSubstr;

const algorithm& right() { return *find_algorithm("cpu/sort")->algorithm; }

status right_call(const problem& p, const io& buffers, std::span<std::byte> workspace,
                  const executor& on) {
  return right().plan(p, *on.device).enqueue(buffers, workspace, on);
}

// Runs the right algorithm, then `spoil`.
template <auto spoil>
status spoilt_call(const problem& p, const io& buffers, std::span<std::byte> workspace,
                   const executor& on) {
  const status done = right_call(p, buffers, workspace, on);
  spoil(p, buffers, workspace);
  return done;
}
template <auto spoil>
algorithm spoilt() {
  return calling<&right, &spoilt_call<spoil>>("test/spoilt");
}

// Every test runs with the host's certificate and with the device's.
class Trial : public testing::TestWithParam<bool> {
 protected:
  Trial() {
    if (GetParam()) {
      place_ = std::make_unique<fibers_in_place>();
    } else {
      place_ = open_backend(executor_kind::cpu, 2);
    }
    problem_.n = 500;
    problem_.q = 6;
    problem_.k = 20;
    rows_.resize(problem_.input_bytes());
    generate_rows(problem_, rows_, 1);
  }

  std::string verdict_on(const algorithm& entry, int runs = 1) {
    const input_rows input(*place_, rows_);
    algorithm everywhere = entry;
    everywhere.executors = set_of(executor_kind::cpu, executor_kind::fiber);
    trial attempt(everywhere, problem_, input, *place_);
    for (int i = 0; i < runs; ++i) {
      attempt.prepare();
      EXPECT_TRUE(attempt.run().ok());
    }
    const std::string wrong = attempt.disprove();
    EXPECT_EQ(attempt.proven_in_place(),
              wrong.empty() && place_->proves_in_place() && problem_.has_indices());
    EXPECT_EQ(attempt.disprove_copy(), wrong);
    EXPECT_FALSE(attempt.proven_in_place());
    return wrong;
  }
  fibers_in_place& fibers() { return dynamic_cast<fibers_in_place&>(*place_); }

  workload problem_;
  std::vector<std::byte> rows_;
  std::unique_ptr<backend> place_;
};
class TrialInPlace : public Trial {
 protected:
  int outputs_seen_ = 0;  // values come before indices; both have the same size
};

TEST_P(Trial, ProvesARightAnswer) { EXPECT_EQ(verdict_on(right()), ""); }

TEST_P(Trial, CatchesAnAlgorithmThatDoesNothing) {
  const algorithm idle = calling<&right, &do_nothing>("test/idle");
  EXPECT_THAT(verdict_on(idle), HasSubstr("index_range"));
}

int lazy_calls;
status lazy_call(const problem& p, const io& buffers, std::span<std::byte> workspace,
                 const executor& on) {
  return ++lazy_calls == 1 ? right_call(p, buffers, workspace, on) : status{};
}

// Every run must poison the outputs; otherwise the first answer would still be there.
TEST_P(Trial, CatchesAnAnswerLeftOverFromAnEarlierRun) {
  lazy_calls = 0;
  const algorithm lazy = calling<&right, &lazy_call>("test/lazy");
  EXPECT_EQ(verdict_on(lazy), "");
  lazy_calls = 0;
  EXPECT_THAT(verdict_on(lazy, 2), HasSubstr("wrong"));
}

TEST_P(Trial, CatchesAWorseElement) {
  // Replaces the best element of row 3 by the worst one of the row.
  constexpr auto swap_in_worst = [](const problem& p, const io& b, std::span<std::byte>) {
    const float* const row = static_cast<const float*>(b.input) + 3 * p.n;
    const auto worst = static_cast<std::int32_t>(std::max_element(row, row + p.n) - row);
    static_cast<float*>(b.values)[3 * p.k] = row[worst];
    static_cast<std::int32_t*>(b.indices)[3 * p.k] = worst;
  };
  EXPECT_THAT(verdict_on(spoilt<swap_in_worst>()), HasSubstr("count"));
}

TEST_P(Trial, CatchesWritesPastAnEnd) {
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

TEST_P(Trial, CatchesAChangedInput) {
  const auto vandal = spoilt<[](const problem&, const io& b, std::span<std::byte>) {
    static_cast<float*>(const_cast<void*>(b.input))[77] = 0.5F;
  }>();
  EXPECT_EQ(verdict_on(vandal), "changed its input");
}

TEST_P(Trial, RestoresTheInputOfAnAlgorithmThatWorksInPlace) {
  algorithm in_place = spoilt<[](const problem& p, const io& b, std::span<std::byte>) {
    std::memset(const_cast<void*>(b.input), 0, p.input_bytes());
  }>();
  in_place.promises.modifies_input = true;
  EXPECT_EQ(verdict_on(in_place, 3), "");
}

TEST_P(Trial, RefusesWhatTheDeclarationExcludes) {
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

TEST_P(Trial, ProvesEveryPayloadAndContract) {
  for (const payload asked : {payload::values, payload::values_and_indices, payload::kth_value}) {
    for (const layout lies : {layout::row_major, layout::column_major}) {
      problem_.payload = asked;
      problem_.layout = lies;
      const auto& entry = *find_algorithm("cpu/nth_element")->algorithm;
      if (!check_support(entry, problem_, open_backend(executor_kind::cpu, 1)->description())) {
        continue;
      }
      EXPECT_EQ(verdict_on(entry), "") << to_string(problem_);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Trial, testing::Bool(),
                         [](const auto& it) { return it.param ? "in_place" : "on_the_host"; });

// The device rejects an answer that the host accepts: the copy to the host repairs it.
TEST_P(TrialInPlace, ReportsAnAnswerThatOnlyTheDeviceFindsWrong) {
  const auto wrong = spoilt<[](const problem& p, const io& b, std::span<std::byte>) {
    static_cast<std::int32_t*>(b.indices)[2 * p.k] ^= 1;
  }>();
  fibers().arriving = [&](std::span<std::byte> copy) {
    const auto k = static_cast<std::size_t>(problem_.k);
    if (copy.size() != problem_.indices_bytes() || ++outputs_seen_ != 2) return;
    reinterpret_cast<std::int32_t*>(copy.data())[2 * k] ^= 1;
  };
  try {
    verdict_on(wrong);
    FAIL();
  } catch (const error& disagreement) {
    EXPECT_EQ(disagreement.category(), failure::unsupported);
    EXPECT_THAT(disagreement.what(), HasSubstr("1 of 6 rows wrong by the former"));
    EXPECT_THAT(disagreement.what(), HasSubstr("row 2"));
  }
}

// The device accepts an answer that the host rejects: the copy to the host spoils every row.
TEST_P(TrialInPlace, ReportsAnAnswerThatOnlyTheHostFindsWrong) {
  fibers().arriving = [&](std::span<std::byte> copy) {
    if (copy.size() == problem_.indices_bytes() / 6) copy.front() ^= std::byte{1};
  };
  try {
    verdict_on(right());
    FAIL();
  } catch (const error& disagreement) {
    EXPECT_EQ(disagreement.category(), failure::unsupported);
    EXPECT_THAT(disagreement.what(), HasSubstr("by the latter row"));
  }
}

// Rows that only the device holds: the host copies them when it first checks an answer.
class RowsMadeInPlace : public TrialInPlace {
 protected:
  RowsMadeInPlace() {
    made_ = device_buffer(*place_, rows_.size());
    place_->to_device(made_.data(), rows_);
    fibers().arriving = [this](std::span<std::byte> copy) {
      copies_ += copy.size() == rows_.size() ? 1 : 0;
    };
  }
  input_rows made() { return input_rows::made_at(*place_, made_.data(), rows_.size()); }

  device_buffer made_;
  int copies_ = 0;
};

TEST_P(RowsMadeInPlace, AreCopiedToTheHostOnceAndOnlyIfItAsks) {
  const input_rows input = made();
  EXPECT_TRUE(input.unchanged());
  EXPECT_EQ(input.bytes(), rows_.size());
  EXPECT_EQ(copies_, 0);
  EXPECT_TRUE(std::ranges::equal(input.host(), rows_));
  EXPECT_TRUE(std::ranges::equal(input.host(), rows_));
  EXPECT_EQ(copies_, 1);
}

TEST_P(RowsMadeInPlace, AreWhatAnswersAreProvenAgainst) {
  algorithm entry = right();
  const auto verdict = [&] {
    const input_rows input = made();
    entry.executors = set_of(executor_kind::cpu, executor_kind::fiber);
    trial attempt(entry, problem_, input, *place_);
    attempt.prepare();
    EXPECT_TRUE(attempt.run().ok());
    return attempt.disprove();
  };
  EXPECT_EQ(verdict(), "");
  entry = spoilt<[](const problem& p, const io& b, std::span<std::byte>) {
    static_cast<std::int32_t*>(b.indices)[2 * p.k] ^= 1;
  }>();
  EXPECT_THAT(verdict(), HasSubstr("1 of 6 rows wrong"));
  entry = spoilt<[](const problem&, const io& b, std::span<std::byte>) {
    static_cast<float*>(const_cast<void*>(b.input))[77] = 0.5F;
  }>();
  EXPECT_EQ(verdict(), "changed its input");
}

TEST_P(RowsMadeInPlace, AreNotTheHostsIfSomethingWroteToThem) {
  const input_rows input = made();
  made_.data()[77] ^= std::byte{1};
  EXPECT_FALSE(input.unchanged());
  EXPECT_THROW(static_cast<void>(input.host()), error);
}

TEST_P(RowsMadeInPlace, TellHowLongACopyToTheHostTakes) {
  const input_rows input = made();
  const timed_run copied = input.time_to_host();
  EXPECT_TRUE(copied.outcome.ok());
  EXPECT_GT(copied.nanoseconds, 0);
  EXPECT_EQ(copies_, 1);
}

INSTANTIATE_TEST_SUITE_P(, RowsMadeInPlace, testing::Values(true));

INSTANTIATE_TEST_SUITE_P(, TrialInPlace, testing::Values(true));

}  // namespace
}  // namespace kselect::harness
