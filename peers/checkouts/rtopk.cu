// The call of RTop-K (Xie et al., "RTop-K: Ultra-Fast Row-Wise Top-K Selection for Neural Network
// Acceleration on GPUs", ICLR 2025) from a checkout of its repository, which peers/from_checkout.py
// puts on the include path.

#include <cuda_runtime.h>

#include "rtopk_kernel.cu"

namespace {

// As its authors' test does: as many warps a block as fit with their rows. `most` iterations and no
// tolerance make it exact.
template <int Warps>
void launch(const float* rows, float* values, int* indices, int q, int n, int k,
            cudaStream_t stream) {
  constexpr int most = 10000;
  rtopk_kernel<Warps><<<(q + Warps - 1) / Warps, Warps * 32, Warps * n * sizeof(float), stream>>>(
      const_cast<float*>(rows), values, indices, q, n, k, most, 0.0F);
}

}  // namespace

// Selects the largest k of each of q rows of n elements, Q x n row-major on the device, into Q x k.
// Returns CUDA's error.
extern "C" int kselect_peer(const float* rows, float* values, int* indices, int q, int n, int k,
                            int /*largest*/, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (n <= 1024) {
    launch<8>(rows, values, indices, q, n, k, on);
  } else if (n <= 2048) {
    launch<4>(rows, values, indices, q, n, k, on);
  } else if (n <= 4096) {
    launch<2>(rows, values, indices, q, n, k, on);
  } else {
    launch<1>(rows, values, indices, q, n, k, on);
  }
  return cudaGetLastError();
}
