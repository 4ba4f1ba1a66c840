#pragma once
// CUDA runtime and cuBLAS calls that throw on failure. For the harness's own GPU code; errors of
// algorithms are statuses. No fmt here: nvcc compiles this header.

#include <cstdint>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <string>

#include "runtime/error.hpp"

namespace kselect::runtime {

// Throws error(failure::resources) if memory ran out, else error(failure::unsupported).
inline void require_cuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  throw error(
      code == cudaErrorMemoryAllocation ? failure::resources : failure::unsupported,
      std::string(what) + " failed: " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
}

inline void require_cublas(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw error(code == CUBLAS_STATUS_ALLOC_FAILED ? failure::resources : failure::unsupported,
              std::string(what) + " failed: " + cublasGetStatusString(code));
}

// Throws if the launch was refused or an earlier call left an error.
inline void require_launch(const char* kernel) { require_cuda(cudaGetLastError(), kernel); }

constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t per_block) {
  return (items + per_block - 1) / per_block;
}

}  // namespace kselect::runtime
