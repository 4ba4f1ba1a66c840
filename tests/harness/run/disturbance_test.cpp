// Changes between calls: a right answer shows each, a remembered one does not, and the rows come
// back as they were.

#include "harness/run/disturbance.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "harness/workload/rows.hpp"
#include "kselect/registry.hpp"
#include "tests/harness/run/fibers_in_place.hpp"

namespace kselect::harness {
namespace {

std::vector<std::byte> kept_values, kept_indices;

// Answers with what it found out in its first call.
status remembers(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  const auto& right = *find_algorithm("cpu/sort")->algorithm;
  const status done = right.plan(p, *on.device).enqueue(b, w, on);
  auto* const values = static_cast<std::byte*>(b.values);
  auto* const indices = static_cast<std::byte*>(b.indices);
  if (kept_values.empty()) {
    kept_values.assign(values, values + p.values_bytes());
    kept_indices.assign(indices, indices + p.indices_bytes());
  }
  std::memcpy(values, kept_values.data(), kept_values.size());
  if (indices != nullptr) std::memcpy(indices, kept_indices.data(), kept_indices.size());
  return done;
}

// Every test runs with the host's certificate and with the device's.
class Disturbance : public testing::TestWithParam<bool> {
 protected:
  Disturbance() {
    if (GetParam()) {
      place_ = std::make_unique<fibers_in_place>();
    } else {
      place_ = open_backend(executor_kind::cpu, 2);
    }
    entry_ = *find_algorithm("cpu/sort")->algorithm;
    entry_.executors = set_of(executor_kind::cpu, executor_kind::fiber);
    problem_.n = 700;
    problem_.q = 5;
    problem_.k = 9;
  }

  void make_rows() {
    rows_.resize(problem_.input_bytes());
    generate_rows(problem_, rows_, 1);
  }

  std::unique_ptr<backend> place_;
  algorithm entry_;
  workload problem_;
  std::vector<std::byte> rows_;
};

TEST_P(Disturbance, ARightAnswerShowsEveryChange) {
  make_rows();
  const std::vector<std::byte> before = rows_;
  input_rows input(*place_, rows_);
  trial attempt(entry_, problem_, input, *place_);
  {
    disturbance changes(problem_, entry_.promises, input, attempt, *place_);
    int changed = 0;
    for (int i = 0; i < 50; ++i) {
      changes.stir();
      changed += rows_ == before ? 0 : 1;
      attempt.prepare();
      ASSERT_TRUE(attempt.run().ok());
      EXPECT_TRUE(changes.shown());
      EXPECT_TRUE(input.unchanged());
      EXPECT_EQ(attempt.disprove(), "");
    }
    EXPECT_EQ(changed, 50);
  }
  EXPECT_EQ(rows_, before);
}

TEST_P(Disturbance, ARememberedAnswerDoesNot) {
  for (const payload wanted : {payload::values_and_indices, payload::values, payload::kth_value}) {
    problem_.payload = wanted;
    make_rows();
    kept_values.clear();
    algorithm stale = entry_;
    stale.payloads = set_of(wanted);
    stale.plan = [](const problem& p, const device& where) {
      const auto& right = *find_algorithm("cpu/sort")->algorithm;
      return call_plan::of<&remembers>(p, right.plan(p, where).workspace());
    };
    input_rows input(*place_, rows_);
    trial attempt(stale, problem_, input, *place_);
    attempt.prepare();
    ASSERT_TRUE(attempt.run().ok());
    ASSERT_EQ(attempt.disprove(), "") << to_string(wanted);
    disturbance changes(problem_, stale.promises, input, attempt, *place_);
    // A k-th value stays right if a lesser element was replaced by another of the k smallest.
    int caught = 0;
    for (int i = 0; i < 20; ++i) {
      changes.stir();
      attempt.prepare();
      ASSERT_TRUE(attempt.run().ok());
      const bool shown = changes.shown();
      EXPECT_EQ(shown, attempt.disprove().empty()) << to_string(wanted);
      caught += shown ? 0 : 1;
    }
    EXPECT_GE(caught, wanted == payload::kth_value ? 10 : 20) << to_string(wanted);
  }
}

// The problem of these sizes with every type, layout, distribution and payload.
std::vector<workload> every_kind(workload problem, std::int64_t n, std::int64_t k) {
  problem.n = n;
  problem.k = k;
  problem.q = 3;
  problem.direction = n % 40 == 0 ? direction::largest : direction::smallest;
  const std::array<distribution, 3> distributions = {{{distribution_kind::uniform, 0},
                                                      {distribution_kind::all_equal, 0},
                                                      {distribution_kind::few_distinct, 2}}};
  std::vector<workload> all;
  for (const dtype type : {dtype::float16, dtype::float32, dtype::float64}) {
    for (const layout order : {layout::row_major, layout::column_major}) {
      for (const distribution& of : distributions) {
        for (const payload wanted :
             {payload::values_and_indices, payload::values, payload::kth_value}) {
          problem.type = type;
          problem.layout = order;
          problem.distribution = of;
          problem.payload = wanted;
          all.push_back(problem);
        }
      }
    }
  }
  return all;
}

// Ties may hide a change. Then the whole proof must hold.
TEST_P(Disturbance, NoRightAnswerIsRefused) {
  using sizes = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [n, k] : {sizes{1, 1}, {2, 1}, {2, 2}, {40, 1}, {40, 40}, {300, 20}}) {
    for (const workload& one : every_kind(problem_, n, k)) {
      problem_ = one;
      make_rows();
      const std::vector<std::byte> before = rows_;
      input_rows input(*place_, rows_);
      trial attempt(entry_, problem_, input, *place_);
      {
        disturbance changes(problem_, entry_.promises, input, attempt, *place_);
        for (int i = 0; i < 6; ++i) {
          changes.stir();
          attempt.prepare();
          ASSERT_TRUE(attempt.run().ok());
          if (!changes.shown()) {
            EXPECT_EQ(attempt.disprove(), "") << to_string(problem_);
          }
          EXPECT_TRUE(input.unchanged());
        }
      }
      EXPECT_EQ(rows_, before) << to_string(problem_);
    }
  }
}

TEST_P(Disturbance, AWriteToAChangedElementIsSeen) {
  make_rows();
  input_rows input(*place_, rows_);
  const std::array<std::byte, 4> other{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  input.write(8, other);
  input.write(16, other);
  EXPECT_TRUE(input.unchanged());
  const std::byte kept = rows_[9];
  rows_[9] = std::byte{77};
  EXPECT_FALSE(input.unchanged());
  rows_[9] = kept;
  rows_[100] ^= std::byte{1};
  EXPECT_FALSE(input.unchanged());
  rows_[100] ^= std::byte{1};
  input.restore();
  EXPECT_TRUE(input.unchanged());
}

TEST(Unforeseen, BitsDiffer) { EXPECT_NE(unforeseen_bits(), unforeseen_bits()); }

INSTANTIATE_TEST_SUITE_P(Certificates, Disturbance, testing::Bool());

}  // namespace
}  // namespace kselect::harness
