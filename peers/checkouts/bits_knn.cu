// The call of `bits`, with prefetching ("GPU-accelerated Parallel K-nearest Neighbors and Top-k
// Selection for Multi-query Workloads", Journal of Parallel and Distributed Computing, 2024) from a
// checkout of its repository, whose `include` peers/from_checkout.py puts on the path.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "bits/topk/singlepass/detail/bits_kernel.cuh"

namespace {

struct request {
  const float* rows;
  float* values;
  std::int32_t* indices;
  std::size_t q, n, k;
  cudaStream_t stream;
};

template <std::size_t Block, std::size_t Batch, std::size_t Most>
void launch(const request& r) {
  const array_view<float, 2> rows(const_cast<float*>(r.rows), {r.q, r.n}, {r.n, 1});
  const array_view<float, 2> values(r.values, {r.q, r.k}, {r.k, 1});
  const array_view<std::int32_t, 2> indices(r.indices, {r.q, r.k}, {r.k, 1});
  bits_kernel<float, std::int32_t, true, Block, Batch, Most>
      <<<static_cast<unsigned>(r.q), Block, 0, r.stream>>>(rows, array_view<std::int32_t, 2>(),
                                                           values, indices, r.k, nullptr);
}

// Threads a block and elements a thread that its authors found fastest on an H100, by k, and for
// few rows by Q (scripts/optima.csv of their repository).
template <std::size_t Block, std::size_t Batch, std::size_t Most>
void launch_tuned(const request& r) {
  if (r.q <= 64) {
    launch<512, 15, Most>(r);
  } else {
    launch<Block, Batch, Most>(r);
  }
}

}  // namespace

// Selects the smallest k of each of q rows of n elements, Q x n row-major on the device, into Q x
// k. Returns CUDA's error; cudaErrorInvalidValue for k > 2048, which it does not take.
extern "C" int kselect_peer(const float* rows, float* values, int* indices, int q, int n, int k,
                            int /*largest*/, void* stream) {
  const request r{rows,
                  values,
                  indices,
                  static_cast<std::size_t>(q),
                  static_cast<std::size_t>(n),
                  static_cast<std::size_t>(k),
                  static_cast<cudaStream_t>(stream)};
  if (k <= 16) {
    launch_tuned<256, 16, 16>(r);
  } else if (k <= 32) {
    launch_tuned<256, 16, 32>(r);
  } else if (k <= 64) {
    launch_tuned<256, 13, 64>(r);
  } else if (k <= 128) {
    launch_tuned<256, 13, 128>(r);
  } else if (k <= 256) {
    launch_tuned<128, 5, 256>(r);
  } else if (k <= 512) {
    launch_tuned<256, 15, 512>(r);
  } else if (k <= 1024) {
    launch_tuned<512, 11, 1024>(r);
  } else if (k <= 2048) {
    launch_tuned<512, 7, 2048>(r);
  } else {
    return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
