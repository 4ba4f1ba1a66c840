// The k nearest of a few random points, by kselect as a library: on the CPU and, where there is
// one, on the GPU. Requires answers that are the same everywhere, prints both, and fails if they
// differ.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <kselect/select.hpp>
#include <random>
#include <vector>

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

constexpr std::int64_t q = 4, n = 10'000, k = 5;

// Best first and, of equal distances, those with smaller indices. Without it answers come in any
// order, a little sooner.
constexpr kselect::select_options stable{
    .require = {.ordering = kselect::output_ordering::stable_sorted,
                .tie_break = kselect::tie_break::prefer_smaller_index}};

void require(const kselect::status& done) {
  if (done.ok()) return;
  std::fprintf(stderr, "%s\n", done.message.c_str());
  std::exit(1);
}

struct answer {
  std::vector<float> values = std::vector<float>(q * k);
  std::vector<std::int32_t> indices = std::vector<std::int32_t>(q * k);
};

answer on_cpu(const std::vector<float>& distances) {
  const kselect::row_matrix<float> rows{.data = distances.data(), .q = q, .n = n};
  answer a;
  require(kselect::select(rows, k, a.values, a.indices, kselect::place::cpu(), stable));
  return a;
}

#if KSELECT_HAS_CUDA

template <class T>
class device_memory {
 public:
  explicit device_memory(std::size_t size) : size_(size) {
    if (cudaMalloc(&data_, std::max<std::size_t>(size, 1) * sizeof(T)) != cudaSuccess) std::exit(1);
  }
  ~device_memory() { cudaFree(data_); }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  std::span<T> span() const { return {static_cast<T*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

answer on_gpu(const kselect::place& gpu, const std::vector<float>& distances) {
  const device_memory<float> input(distances.size()), values(q * k);
  const device_memory<std::int32_t> indices(q * k);
  cudaMemcpy(input.span().data(), distances.data(), distances.size() * sizeof(float),
             cudaMemcpyHostToDevice);
  const kselect::row_matrix<float> rows{.data = input.span().data(), .q = q, .n = n};
  const device_memory<std::byte> workspace(
      kselect::select_workspace<float, std::int32_t>(rows, k, gpu, stable));
  require(kselect::select(rows, k, values.span(), indices.span(), workspace.span(), gpu, stable));
  answer a;
  cudaMemcpy(a.values.data(), values.span().data(), q * k * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(a.indices.data(), indices.span().data(), q * k * sizeof(std::int32_t),
             cudaMemcpyDeviceToHost);
  return a;
}

#endif

void show(const char* where, const answer& a) {
  for (std::int64_t r = 0; r < q; ++r) {
    std::printf("%s row %lld:", where, static_cast<long long>(r));
    for (std::int64_t j = r * k; j < (r + 1) * k; ++j) {
      std::printf(" %d (%.6f)", a.indices[j], a.values[j]);
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::vector<float> distances(q * n);
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (float& d : distances) d = uniform(generator);

  const answer cpu = on_cpu(distances);
  show("cpu", cpu);

  const auto gpu = kselect::place::cuda();
  if (!gpu.obstacle().empty()) {
    std::printf("gpu: %s\n", gpu.obstacle().c_str());
    return 0;
  }
#if KSELECT_HAS_CUDA
  const answer there = on_gpu(gpu, distances);
  show("gpu", there);
  if (there.values != cpu.values || there.indices != cpu.indices) {
    std::fprintf(stderr, "the answers differ\n");
    return 1;
  }
#endif
  return 0;
}
