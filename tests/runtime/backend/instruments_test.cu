// The timers on a GPU: every way of timing measures work of known length correctly.

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "runtime/backend/backend.hpp"
#include "runtime/backend/cuda/instruments.hpp"

namespace kselect::runtime {
namespace {

__global__ void idle() {}

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void set(int* out, int value) { *out = value; }

class CudaInstruments : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = open_backend(executor_kind::cuda, 1);
    stream_ = static_cast<cudaStream_t>(place_->executor().stream);
  }

  status launched() {
    const cudaError_t code = cudaGetLastError();
    if (code == cudaSuccess) return {};
    return {status_code::failed, cudaGetErrorString(code)};
  }
  template <class Work>
  double best_ns(const Work& work, bool gapless) {
    double best = 1e18;
    for (int i = 0; i < 10; ++i) {
      // The first run is not gapless: it may load the kernel, which waits for the stream.
      const timed_run run = place_->time(work, gapless && i > 0);
      EXPECT_TRUE(run.outcome.ok()) << run.outcome.message;
      if (i > 0 && run.nanoseconds < best) best = run.nanoseconds;
    }
    return best;
  }

  std::unique_ptr<backend> place_;
  cudaStream_t stream_ = nullptr;
};

TEST_F(CudaInstruments, AnEmptyKernelTakesAFewMicroseconds) {
  const auto work = [&] {
    idle<<<1, 32, 0, stream_>>>();
    return launched();
  };
  const double gapless = best_ns(work, true);
  EXPECT_LT(gapless, 10e3);
  EXPECT_LE(gapless, best_ns(work, false) * 1.1) << "a launch gap can only add";
}

TEST_F(CudaInstruments, AKernelOfKnownCyclesTakesThemAtTheClockThatWasRead) {
  constexpr long long cycles = 1'000'000;  // about half a millisecond
  const auto work = [&] {
    spin<<<1, 1, 0, stream_>>>(cycles);
    return launched();
  };
  best_ns(work, true);  // raises the GPU's clock
  const timed_run run = place_->time(work, true);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.message;
  ASSERT_TRUE(run.sm_mhz.has_value());
  EXPECT_GT(*run.sm_mhz, 100);
  EXPECT_LT(*run.sm_mhz, 5000);
  const double expected = static_cast<double>(cycles) / *run.sm_mhz * 1e3;
  EXPECT_GT(run.nanoseconds, 0.97 * expected);
  EXPECT_LT(run.nanoseconds, 1.05 * expected + 10e3);
}

TEST_F(CudaInstruments, ManyLaunchesLeaveNoGapsInside) {
  constexpr long long cycles = 20'000;
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) spin<<<1, 1, 0, stream_>>>(cycles);
    return launched();
  };
  const timed_run once = place_->time(
      [&] {
        spin<<<1, 1, 0, stream_>>>(100 * cycles);
        return launched();
      },
      true);
  // Queued launches cost a microsecond or two each on the GPU, not the host's time to launch.
  EXPECT_LT(best_ns(work, true), once.nanoseconds * 1.1 + 100 * 3e3);
}

TEST_F(CudaInstruments, MemoryMovesAtAPlausibleRateAndNoFasterThanItsCeiling) {
  const memory_ceilings found = place_->measure_ceilings();
  EXPECT_GT(found.read, 50e9);
  EXPECT_LT(found.read, 20e12);
  EXPECT_GT(found.copy, 50e9);
  EXPECT_LT(found.copy, 1.3 * found.read);
  constexpr std::size_t bytes = std::size_t{256} << 20;
  const device_buffer from(*place_, bytes), to(*place_, bytes);
  place_->evict({});
  const double ns = best_ns(
      [&] {
        cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream_);
        return launched();
      },
      true);
  EXPECT_GT(2.0 * bytes / ns * 1e9, 0.5 * found.copy);
  EXPECT_LT(2.0 * bytes / ns * 1e9, 1.25 * found.read);
}

TEST_F(CudaInstruments, EvictionMakesASmallReadSlower) {
  const std::size_t bytes = place_->description().cache_bytes / 4 / 4096 * 4096;
  const device_buffer block(*place_, bytes);
  const auto read = [&] {
    read_through(stream_, block.data(), bytes, place_->description().multiprocessors);
    return status{};
  };
  const double warm = best_ns(read, true);
  double cold = 1e18;
  for (int i = 0; i < 5; ++i) {
    place_->evict({});
    cold = std::min(cold, place_->time(read, true).nanoseconds);
  }
  EXPECT_GT(cold, 1.2 * warm);
}

TEST_F(CudaInstruments, WaitingForOwnWorkBehindTheGateIsToldNotHungOn) {
  const timed_run run = place_->time(
      [&] {
        idle<<<1, 1, 0, stream_>>>();
        cudaStreamSynchronize(stream_);
        return launched();
      },
      true);
  EXPECT_FALSE(run.outcome.ok());
  EXPECT_NE(run.outcome.message.find("synchronises"), std::string::npos) << run.outcome.message;
  EXPECT_LT(best_ns([&] { return status{}; }, true), 1e6) << "the next one is as usual";
}

TEST_F(CudaInstruments, WorkOnAnotherStreamIsSeen) {
  const device_buffer memory(*place_, 256);
  auto* const out = reinterpret_cast<int*>(memory.data());
  const memory_range watched[] = {{memory.data(), 4}};
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  for (const cudaStream_t where : {stream_, other}) {
    const int zero = 0;
    place_->to_device(memory.data(), std::as_bytes(std::span(&zero, 1)));
    const bool escaped = place_->escapes_queue(
        [&] {
          set<<<1, 1, 0, where>>>(out, 7);
          return launched();
        },
        watched, 0.02);
    EXPECT_EQ(escaped, where == other);
    int now = 0;
    cudaDeviceSynchronize();
    place_->to_host(std::as_writable_bytes(std::span(&now, 1)), memory.data());
    EXPECT_EQ(now, 7);
  }
  cudaStreamDestroy(other);
}

TEST_F(CudaInstruments, AGraphIsCapturedAndReplayedOrRefusedWithTheReason) {
  const device_buffer memory(*place_, 256);
  auto* const out = reinterpret_cast<int*>(memory.data());
  const auto graph = place_->capture([&] {
    set<<<1, 1, 0, stream_>>>(out, 1);
    set<<<1, 1, 0, stream_>>>(out, 9);
    return launched();
  });
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->refused, "");
  EXPECT_EQ(graph->kernels, 2);
  int now = 0;
  place_->to_host(std::as_writable_bytes(std::span(&now, 1)), memory.data());
  EXPECT_EQ(now, 9) << "the replay ran";

  const auto refused = place_->capture([&] {
    set<<<1, 1, 0, stream_>>>(out, 1);
    cudaStreamSynchronize(stream_);
    return status{};
  });
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->refused, "");
  EXPECT_TRUE(place_->synchronise().ok()) << "the stream is usable again";
}

}  // namespace
}  // namespace kselect::runtime
