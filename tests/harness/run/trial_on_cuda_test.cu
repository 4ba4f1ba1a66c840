// A trial on a GPU: right answers are proven there, and every planted fault is caught and named
// as on the host.

#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "kselect/registry.hpp"
#include "tests/harness/run/calling.hpp"

namespace kselect::harness {
namespace {

using testing::HasSubstr;

const algorithm& right() { return *find_algorithm("qms-block")->algorithm; }

template <class T>
__global__ void write(T* at, T value) {
  *at = value;
}
template <class T>
__global__ void exchange(T* a, T* b) {
  const T kept = *a;
  *a = *b;
  *b = kept;
}

// Runs the right algorithm, then `spoil` on the same stream.
template <auto spoil>
status spoilt_call(const problem& p, const io& b, std::span<std::byte> workspace,
                   const executor& on) {
  const status done = right().plan(p, *on.device).enqueue(b, workspace, on);
  if (done.ok()) spoil(p, b, workspace, static_cast<cudaStream_t>(on.stream));
  return done;
}
template <auto spoil>
algorithm spoilt() {
  return calling<&right, &spoilt_call<spoil>>("test/spoilt");
}

void flip_index(const problem& p, const io& b, std::span<std::byte>, cudaStream_t stream) {
  auto* const index = static_cast<std::int32_t*>(b.indices) + 3 * p.k;
  exchange<<<1, 1, 0, stream>>>(index, index + 1);
}
void repeat_an_output(const problem& p, const io& b, std::span<std::byte>, cudaStream_t stream) {
  cudaMemcpyAsync(static_cast<float*>(b.values) + 3 * p.k,
                  static_cast<float*>(b.values) + 3 * p.k + 1, sizeof(float),
                  cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(static_cast<std::int32_t*>(b.indices) + 3 * p.k,
                  static_cast<std::int32_t*>(b.indices) + 3 * p.k + 1, sizeof(std::int32_t),
                  cudaMemcpyDeviceToDevice, stream);
}
void past_the_end(const problem& p, const io& b, std::span<std::byte>, cudaStream_t stream) {
  write<<<1, 1, 0, stream>>>(static_cast<float*>(b.values) + p.q * p.k, 0.0F);
}
void before_the_start(const problem&, const io& b, std::span<std::byte>, cudaStream_t stream) {
  write<<<1, 1, 0, stream>>>(static_cast<std::int32_t*>(b.indices) - 1, 0);
}
void vandalise(const problem&, const io& b, std::span<std::byte>, cudaStream_t stream) {
  write<<<1, 1, 0, stream>>>(static_cast<float*>(const_cast<void*>(b.input)) + 77, 0.5F);
}

class TrialOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = open_backend(executor_kind::cuda);
    problem_.n = 5000;
    problem_.q = 60;
    problem_.k = 20;
    rows_.resize(problem_.input_bytes());
    generate_rows(problem_, rows_, 1);
  }

  std::string verdict_on(const algorithm& entry) {
    const input_rows input(*place_, rows_);
    trial attempt(entry, problem_, input, *place_);
    attempt.prepare();
    EXPECT_TRUE(attempt.run().ok());
    const std::string wrong = attempt.disprove();
    EXPECT_EQ(attempt.proven_in_place(), wrong.empty() && problem_.has_indices());
    EXPECT_EQ(attempt.disprove_copy(), wrong);
    return wrong;
  }

  workload problem_;
  std::vector<std::byte> rows_;
  std::unique_ptr<backend> place_;
};

TEST_F(TrialOnCuda, ProvesARightAnswer) {
  EXPECT_EQ(verdict_on(right()), "");
  problem_.payload = payload::values;
  EXPECT_EQ(verdict_on(right()), "") << "on the host";
}

TEST_F(TrialOnCuda, CatchesAnAlgorithmThatDoesNothing) {
  const algorithm idle = calling<&right, &do_nothing>("test/idle");
  EXPECT_THAT(verdict_on(idle), HasSubstr("60 of 60 rows wrong; index_range"));
}

TEST_F(TrialOnCuda, CatchesWrongOutputs) {
  EXPECT_THAT(verdict_on(spoilt<flip_index>()), HasSubstr("1 of 60 rows wrong; value_bits"));
  EXPECT_THAT(verdict_on(spoilt<repeat_an_output>()),
              HasSubstr("1 of 60 rows wrong; index_distinct: row 3"));
}

TEST_F(TrialOnCuda, CatchesWritesPastAnEnd) {
  EXPECT_THAT(verdict_on(spoilt<past_the_end>()), HasSubstr("past the end of values"));
  EXPECT_THAT(verdict_on(spoilt<before_the_start>()), HasSubstr("before the start of indices"));
}

TEST_F(TrialOnCuda, CatchesAChangedInput) {
  EXPECT_EQ(verdict_on(spoilt<vandalise>()), "changed its input");
}

TEST_F(TrialOnCuda, RestoresTheInputOfAnAlgorithmThatWorksInPlace) {
  algorithm in_place = spoilt<vandalise>();
  in_place.promises.modifies_input = true;
  EXPECT_EQ(verdict_on(in_place), "");
}

}  // namespace
}  // namespace kselect::harness
