#include "search/knn/cuda/product_rate.hpp"

#if KSELECT_HAS_CUDA

#include <cstdint>
#include <span>
#include <vector>

#include "harness/measure/statistics.hpp"
#include "runtime/backend/cuda/call.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t factor_elements = std::int64_t{product_rate_size} * product_rate_size;
constexpr int untimed_products = 3, timed_products = 7;

// Numbers of float16 with random signs and mantissas: their size is in [1/2, 1). A GPU that is
// limited by power multiplies zeros faster.
std::vector<std::uint16_t> factors_at_random() {
  std::vector<std::uint16_t> made(static_cast<std::size_t>(factor_elements));
  std::uint64_t state = 1;
  for (std::uint16_t& one : made) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    one = static_cast<std::uint16_t>(0x3800U | (state >> 48 & 0x83ffU));
  }
  return made;
}

class plain_product {
 public:
  explicit plain_product(backend& place)
      : stream_(static_cast<cudaStream_t>(place.executor().stream)),
        factors_(place, factor_elements * sizeof(std::uint16_t)),
        result_(place, factor_elements * sizeof(std::uint16_t)) {
    const std::vector<std::uint16_t> factors = factors_at_random();
    place.to_device(factors_.data(), std::as_bytes(std::span(factors)));
    require_cublas(cublasCreate(&cublas_), "cublasCreate");
    require_cublas(cublasSetStream(cublas_, stream_), "cublasSetStream");
    require_cuda(cudaEventCreate(&start_), "cudaEventCreate");
    require_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  plain_product(const plain_product&) = delete;
  plain_product& operator=(const plain_product&) = delete;
  ~plain_product() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
    cublasDestroy(cublas_);
  }

  double seconds() {
    constexpr float alpha = 1, beta = 0;
    constexpr int size = product_rate_size;
    require_cuda(cudaEventRecord(start_, stream_), "cudaEventRecord");
    require_cublas(
        cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, size, size, size, &alpha, factors_.data(),
                     CUDA_R_16F, size, factors_.data(), CUDA_R_16F, size, &beta, result_.data(),
                     CUDA_R_16F, size, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
    require_cuda(cudaEventRecord(stop_, stream_), "cudaEventRecord");
    require_cuda(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float milliseconds = 0;
    require_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_;
  device_buffer factors_, result_;
  cublasHandle_t cublas_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

double measure_product_rate(backend& place) {
  if (place.shares_host_memory()) return 0;
  plain_product product(place);
  for (int i = 0; i < untimed_products; ++i) product.seconds();
  std::vector<double> seconds;
  for (int i = 0; i < timed_products; ++i) seconds.push_back(product.seconds());
  return 2.0 * static_cast<double>(factor_elements) * product_rate_size / summarise(seconds).median;
}

}  // namespace kselect::search

#else

namespace kselect::search {

double measure_product_rate(backend&) { return 0; }

}  // namespace kselect::search

#endif
