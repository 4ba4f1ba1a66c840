#include "harness/backend/cuda_backend.hpp"

// Compiled in every build; empty where CUDA was not found when configuring.
#if KSELECT_HAS_CUDA

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include "harness/backend/host_backend.hpp"
#include "harness/error.hpp"

namespace kselect {
namespace {

std::string describe(cudaError_t code) {
  return fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code));
}

// For calls that only fail when the context is lost or the driver refuses: there is nothing to do
// but end with what the driver says.
void require(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw error(failure::unsupported, fmt::format("{} failed: {}", what, describe(code)));
}

class cuda_backend final : public backend {
 public:
  explicit cuda_backend(int threads) {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    device_.kind = executor_kind::cuda;
    device_.name = properties.name;
    device_.threads = threads > 0 ? threads : available_threads();
    device_.multiprocessors = properties.multiProcessorCount;
    device_.compute_capability = 10 * properties.major + properties.minor;
    device_.shared_bytes = properties.sharedMemPerBlockOptin;
    device_.memory_bytes = properties.totalGlobalMem;
    device_.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&begin_), "cudaEventCreate");
    require(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~cuda_backend() override {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  const device& description() const override { return device_; }
  kselect::executor executor() const override {
    return {.device = &device_, .stream = stream_, .fiber = nullptr};
  }

  std::byte* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const cudaError_t code = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
    if (code != cudaSuccess) {
      cudaGetLastError();  // an allocation that failed leaves the context usable
      throw error(failure::resources,
                  fmt::format("cannot allocate {:.1f} MiB on {}: {}",
                              static_cast<double>(bytes) / (1 << 20), device_.name, describe(code)));
    }
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) noexcept override { cudaFree(memory); }

  void to_device(std::byte* to, std::span<const std::byte> from) override {
    move(to, from.data(), from.size());
  }
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    move(to.data(), from, to.size());
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    move(to, from, bytes);
  }

  status synchronise() override {
    const cudaError_t code = cudaStreamSynchronize(stream_);
    if (code == cudaSuccess) return {};
    return {status_code::failed, describe(code)};
  }

  // The events stand in the stream right before and behind the work. When the GPU is idle, the first
  // one passes before the launch arrives: a few microseconds of launch gap are inside.
  timed_run time(const std::function<status()>& enqueue) override {
    require(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    status outcome = enqueue();
    require(cudaEventRecord(end_, stream_), "cudaEventRecord");
    const status finished = synchronise();
    if (!outcome.ok() || !finished.ok()) return {outcome.ok() ? finished : std::move(outcome)};
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return {{}, static_cast<double>(milliseconds) * 1e6};
  }
  const char* clock_name() const override { return "cuda_event"; }

 private:
  void move(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  device device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::string why_no_cuda_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return describe(code);
  return count == 0 ? "no CUDA device is visible" : std::string{};
}

std::unique_ptr<backend> open_cuda_backend(int threads) {
  return std::make_unique<cuda_backend>(threads);
}

}  // namespace kselect

#endif
