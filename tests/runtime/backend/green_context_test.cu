// A backend that is confined to some multiprocessors: its kernels run on no others, and everything
// that a sweep does with a backend works as on the whole GPU.

#include <algorithm>
#include <gmock/gmock.h>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

constexpr int wanted = 16;

// Every block lasts long enough that the next one starts on another multiprocessor.
__global__ void note_place(unsigned* places) {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  const long long begin = clock64();
  while (clock64() - begin < 50'000) {
  }
  if (threadIdx.x == 0) places[blockIdx.x] = id;
}

__global__ void set(int* out, int value) { *out = value; }

status launched() {
  const cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess) return {};
  return {status_code::failed, cudaGetErrorString(code)};
}

cudaStream_t stream_of(backend& place) {
  return static_cast<cudaStream_t>(place.executor().stream);
}

// The multiprocessors on which the blocks of a launch ran that would fill the whole GPU many times.
std::set<unsigned> places_used(backend& place, bool as_graph = false) {
  constexpr std::size_t blocks = 4096;
  const device_buffer memory(place, blocks * sizeof(unsigned));
  auto* const places = reinterpret_cast<unsigned*>(memory.data());
  const auto launch = [&] {
    note_place<<<blocks, 256, 0, stream_of(place)>>>(places);
    return launched();
  };
  if (as_graph) {
    const auto graph = place.capture(launch);
    EXPECT_TRUE(graph && graph->refused.empty()) << (graph ? graph->refused : "");
  } else {
    EXPECT_TRUE(launch().ok());
  }
  std::vector<unsigned> seen(blocks);
  place.to_host(std::as_writable_bytes(std::span(seen)), memory.data());
  return {seen.begin(), seen.end()};
}

class GreenContext : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    whole_ = open_backend(executor_kind::cuda, 1);
    if (whole_->description().multiprocessors <= wanted) {
      GTEST_SKIP() << "the GPU has no more than " << wanted << " multiprocessors";
    }
    confined_ = open_backend(executor_kind::cuda, 1, 0, wanted);
  }

  // Declared in this order: the context goes before the backend that the thread returns to.
  std::unique_ptr<backend> whole_;
  std::unique_ptr<backend> confined_;
};

TEST_F(GreenContext, SaysWhatItGot) {
  const auto got = confined_->confined();
  ASSERT_TRUE(got);
  EXPECT_GE(got->multiprocessors, wanted);
  EXPECT_LT(got->multiprocessors, got->of);
  EXPECT_EQ(got->of, whole_->description().multiprocessors);
  EXPECT_EQ(confined_->description().multiprocessors, got->multiprocessors);
  EXPECT_EQ(confined_->description().name, whole_->description().name);
  EXPECT_FALSE(whole_->confined());
}

TEST_F(GreenContext, KernelsRunOnNoOtherMultiprocessor) {
  const std::set<unsigned> used = places_used(*confined_);
  const auto most = static_cast<std::size_t>(confined_->description().multiprocessors);
  EXPECT_LE(used.size(), most);
  EXPECT_GE(used.size(), most / 2) << "the part is used";
  EXPECT_TRUE(std::ranges::includes(used, places_used(*confined_, true))) << "in a graph";
}

TEST_F(GreenContext, AWholeBackendOnTheSameThreadIsNotConfined) {
  const auto most = static_cast<std::size_t>(confined_->description().multiprocessors);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_LE(places_used(*confined_).size(), most);
    EXPECT_GT(places_used(*whole_).size(), most);
  }
  confined_.reset();
  EXPECT_GT(places_used(*whole_).size(), most) << "after the confined one is gone";
}

TEST_F(GreenContext, MemoryIsShared) {
  const device_buffer memory(*whole_, 256);
  set<<<1, 1, 0, stream_of(*confined_)>>>(reinterpret_cast<int*>(memory.data()), 7);
  EXPECT_TRUE(launched().ok());
  EXPECT_TRUE(confined_->synchronise().ok());
  int value = 0;
  whole_->to_host(std::as_writable_bytes(std::span(&value, 1)), memory.data());
  EXPECT_EQ(value, 7);
}

TEST_F(GreenContext, TimesAndClocksAreRead) {
  const device_buffer memory(*confined_, 4096 * sizeof(unsigned));
  const auto work = [&] {
    note_place<<<4096, 256, 0, stream_of(*confined_)>>>(reinterpret_cast<unsigned*>(memory.data()));
    return launched();
  };
  ASSERT_TRUE(confined_->time(work, false).outcome.ok());
  confined_->evict({});
  const timed_run run = confined_->time(work, true);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.message;
  EXPECT_GT(run.nanoseconds, 0);
  ASSERT_TRUE(run.sm_mhz) << "also without multiprocessor 0";
  EXPECT_GT(*run.sm_mhz, 100);
  EXPECT_LT(*run.sm_mhz, 5000);
  EXPECT_EQ(confined_->lost(), "");
}

TEST_F(GreenContext, TheCeilingIsMeasuredUnderTheSameRestriction) {
  const memory_ceilings part = confined_->measure_ceilings(), all = whole_->measure_ceilings();
  EXPECT_GT(part.read, 10e9);
  EXPECT_LT(part.read, 0.8 * all.read) << "a few multiprocessors do not draw all bandwidth";
}

TEST_F(GreenContext, MoreThanThereAreIsAnErrorOfUsage) {
  try {
    open_backend(executor_kind::cuda, 1, 0, whole_->description().multiprocessors + 1);
    FAIL() << "no error";
  } catch (const error& problem) {
    EXPECT_EQ(problem.category(), failure::usage);
    EXPECT_THAT(problem.what(), testing::HasSubstr("multiprocessors"));
  }
}

}  // namespace
}  // namespace kselect::runtime
