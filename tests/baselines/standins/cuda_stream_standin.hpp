#pragma once
// What the stand-ins have of CUDA's streams, as cuda_runtime.h and libcu++ declare them.

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace cuda {

class stream_ref {
 public:
  explicit stream_ref(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_;
};

}  // namespace cuda
