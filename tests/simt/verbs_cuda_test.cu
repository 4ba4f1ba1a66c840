// Every verb on a GPU: the kernels of verbs_kernels.cuh must give the same answers as on fibers,
// which fiber_verbs_test.cpp tests. Also tests failing launches on a GPU.

#include <array>
#include <atomic>
#include <cuda_runtime.h>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simt/verbs_kernels.cuh"

namespace kselect::simt::verbs {
namespace {

struct answered {
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(words);
  std::vector<std::int64_t> totals = {0, 1 << 30, -(1 << 30)};
  bool operator==(const answered&) const = default;
};

std::vector<std::uint32_t> inputs() {
  std::vector<std::uint32_t> in(elements);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<std::uint32_t>(i * i * 2654435761U) >> 5;
  }
  return in;
}

// Device memory with a vector's content; download() copies it back.
template <class T>
class mirror {
 public:
  explicit mirror(const std::vector<T>& host) : size_(static_cast<std::int64_t>(host.size())) {
    EXPECT_EQ(cudaMalloc(&data_, host.size() * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~mirror() { cudaFree(data_); }
  mirror(const mirror&) = delete;
  mirror& operator=(const mirror&) = delete;
  global<T> span() const { return {data_, size_}; }
  void download(std::vector<T>& host) const {
    EXPECT_EQ(cudaMemcpy(host.data(), data_, host.size() * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_;
};

class verbs_cuda : public testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    const cudaError_t error = cudaGetDeviceCount(&gpus);
    if (error != cudaSuccess || gpus == 0) {
      GTEST_SKIP() << "no NVIDIA GPU here: " << cudaGetErrorString(error);
    }
  }

  template <class Kernel>
  static answered on_fibers(const grid& shape) {
    device place;
    place.kind = executor_kind::fiber;
    std::vector<std::uint32_t> in = inputs();
    answered result;
    const verb_args args = {
        {in.data(), elements}, {result.out.data(), words}, {result.totals.data(), 3}};
    const status outcome = launch<Kernel>({&place}, shape, args);
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    return result;
  }

  template <class Kernel>
  static answered on_gpu(const grid& shape) {
    answered result;
    const mirror<std::uint32_t> in(inputs());
    const mirror<std::uint32_t> out(result.out);
    const mirror<std::int64_t> totals(result.totals);
    const status outcome = launch<Kernel>({&gpu()}, shape, {in.span(), out.span(), totals.span()});
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    out.download(result.out);
    totals.download(result.totals);
    return result;
  }

  template <class Kernel>
  static void expect_equal(std::size_t dynamic_bytes = 0, bool awaits = false) {
    const grid shape{.blocks = blocks,
                     .threads = threads,
                     .dynamic_shared_bytes = dynamic_bytes,
                     .awaits_earlier_blocks = awaits};
    const answered expected = on_fibers<Kernel>(shape);
    EXPECT_NE(expected, answered{}) << "the fibers did not run";
    EXPECT_EQ(on_gpu<Kernel>(shape), expected);
  }

  static const device& gpu() {
    static const device place = [] {
      device d;
      d.kind = executor_kind::cuda;
      int major = 0, minor = 0;
      EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
      EXPECT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), cudaSuccess);
      d.compute_capability = 10 * major + minor;
      return d;
    }();
    return place;
  }
};

TEST_F(verbs_cuda, places) { expect_equal<places>(); }
TEST_F(verbs_cuda, bits) { expect_equal<bits>(); }
TEST_F(verbs_cuda, votes) { expect_equal<votes>(); }
TEST_F(verbs_cuda, reductions) { expect_equal<reductions>(); }
TEST_F(verbs_cuda, shuffles) { expect_equal<shuffles>(); }
TEST_F(verbs_cuda, atomics) { expect_equal<atomics>(); }
TEST_F(verbs_cuda, numbers) { expect_equal<numbers>(); }
TEST_F(verbs_cuda, products) {
  expect_equal<products<product::float16>>();
  expect_equal<products<product::bfloat16>>();
  expect_equal<products<product::int8>>();
  expect_equal<products<product::uint8>>();
}
TEST_F(verbs_cuda, copies) { expect_equal<copies>(); }
TEST_F(verbs_cuda, fresh) { expect_equal<fresh>(); }
TEST_F(verbs_cuda, messages) { expect_equal<messages>(0, true); }
TEST_F(verbs_cuda, memory) { expect_equal<memory>(threads * sizeof(std::uint32_t)); }
TEST_F(verbs_cuda, large_storage) { expect_equal<large_storage>(threads * sizeof(std::uint32_t)); }

TEST_F(verbs_cuda, dynamic_shared_memory_beyond_48_KiB_is_opted_in_to) {
  expect_equal<memory>(100 << 10);
}

device with_its_shared_memory(device place) {
  int bytes = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            cudaSuccess);
  place.shared_bytes = static_cast<std::size_t>(bytes);
  return place;
}

// A later launch with less leaves a captured one what it needs.
TEST_F(verbs_cuda, a_graph_keeps_its_shared_memory) {
  const device place = with_its_shared_memory(gpu());
  const mirror<std::uint32_t> in(inputs());
  std::vector<std::uint32_t> out(words);
  const mirror<std::uint32_t> to(out), other(out);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const grid large{blocks, threads, 90 << 10}, small{blocks, threads, 60 << 10};
  EXPECT_TRUE(launch<memory>({&place, stream}, large, {in.span(), to.span(), {}}).ok());
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_TRUE(launch<memory>({&place, stream}, small, {in.span(), other.span(), {}}).ok());
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  to.download(out);
  EXPECT_EQ(out, on_fibers<memory>(large).out);
  EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(verbs_cuda, threads_launch_one_kernel_with_shared_memory_of_their_own) {
  const device place = with_its_shared_memory(gpu());
  const mirror<std::uint32_t> in(inputs());
  std::atomic<int> failed = 0;
  const auto launches = [&](std::size_t bytes) {
    const mirror<std::uint32_t> to{std::vector<std::uint32_t>(words)};
    for (int i = 0; i < 500; ++i) {
      const status outcome =
          launch<memory>({&place}, {blocks, threads, bytes}, {in.span(), to.span(), {}});
      if (!outcome.ok()) ++failed;
    }
  };
  {
    std::vector<std::jthread> callers;
    for (const std::size_t kib : {50, 60, 80, 90}) {
      callers.emplace_back([&, kib] { launches(kib << 10); });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// Many pairs in sequence, in a stream and in a graph: no launch reads data that the previous launch
// has not yet written, or overwrites data that it still reads.
TEST_F(verbs_cuda, two_launches_that_overlap_follow_each_other_in_a_stream_and_in_a_graph) {
  device fibers;
  fibers.kind = executor_kind::fiber;
  std::vector<std::uint32_t> in = inputs();
  std::vector<std::uint32_t> expected(words);
  ASSERT_TRUE(launch_two({&fibers}, {{in.data(), elements}, {expected.data(), words}, {}}).ok());

  const mirror<std::uint32_t> from(in);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  constexpr int pairs = 20;
  for (const bool captured : {false, true}) {
    std::vector<std::unique_ptr<mirror<std::uint32_t>>> outs;
    std::vector<std::uint32_t> out(words);
    for (int i = 0; i < pairs; ++i) outs.push_back(std::make_unique<mirror<std::uint32_t>>(out));
    if (captured) {
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    }
    for (const auto& to : outs) {
      const status outcome = launch_two({&gpu(), stream}, {from.span(), to->span(), {}});
      EXPECT_TRUE(outcome.ok()) << outcome.message;
    }
    if (captured) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
      EXPECT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (const auto& to : outs) {
      to->download(out);
      EXPECT_EQ(out, expected) << (captured ? "in a graph" : "in a stream");
    }
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(verbs_cuda, a_launch_that_fails_names_kernel_and_error_and_leaves_none_behind) {
  const status outcome = launch<memory>({&gpu()}, {1, 32, std::size_t{16} << 20}, {});
  EXPECT_EQ(outcome.code, status_code::failed);
  EXPECT_NE(outcome.message.find("verbs::memory"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("cudaError"), std::string::npos) << outcome.message;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace kselect::simt::verbs
