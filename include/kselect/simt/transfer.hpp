#pragma once
// Copies between host and executor memory, for algorithms that decide on the host between launches.
// A copy waits for the earlier work of the stream and for itself, so such an algorithm must declare
// `synchronises`.

#include <cstddef>
#include <cstring>

#include "kselect/algorithm.hpp"
#if defined(__CUDACC__)
#include "kselect/simt/cuda.cuh"
#endif

namespace kselect::simt {

namespace detail {

#if defined(__CUDACC__)
inline status copy_on_cuda(const executor& where, void* to, const void* from, std::size_t bytes) {
  const auto stream = static_cast<cudaStream_t>(where.stream);
  const status copied = cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
                                    "cudaMemcpyAsync", "(transfer)");
  return copied.ok() ? cuda_status(cudaStreamSynchronize(stream), "cudaStreamSynchronize",
                                   "(transfer)")
                     : copied;
}
#endif

}  // namespace detail

// One of `to` and `from` is memory of the executor.
inline status copy(const executor& where, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
#if defined(__CUDACC__)
  if (where.device->kind == executor_kind::cuda) {
    return detail::copy_on_cuda(where, to, from, bytes);
  }
#endif
  if (where.device->kind == executor_kind::cuda) {
    return {status_code::unsupported, "this build has no CUDA"};
  }
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace kselect::simt
