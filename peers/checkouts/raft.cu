// The call of RAFT's batched top-k, raft::matrix::select_k (Zhang, Naruse, Li & Wang, "Parallel
// Top-K Algorithms on GPU: A Comprehensive Study and New Methods", SC '23), which has no call in
// Python since RAFT 25.12. It lets RAFT choose its algorithm. The folder holds its wheels, unpacked.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <limits>
#include <new>
#include <optional>
#include <raft/core/device_mdspan.hpp>
#include <raft/core/resource/cuda_stream.hpp>
#include <raft/core/resource/device_memory_resource.hpp>
#include <raft/core/resources.hpp>
#include <raft/matrix/select_k.cuh>

namespace {

// Scratch memory in the order of the stream, from the driver's pool, which keeps what it has: as
// with a pool of RMM's, only the first calls allocate.
class stream_memory {
 public:
  void* allocate_sync(std::size_t bytes, std::size_t = 256) {
    return allocate(cuda::stream_ref{cudaStream_t{nullptr}}, bytes);
  }
  void deallocate_sync(void* piece, std::size_t, std::size_t = 256) noexcept {
    cudaFreeAsync(piece, nullptr);
  }
  void* allocate(cuda::stream_ref on, std::size_t bytes, std::size_t = 256) {
    void* piece = nullptr;
    if (cudaMallocAsync(&piece, bytes, on.get()) != cudaSuccess) throw std::bad_alloc();
    return piece;
  }
  void deallocate(cuda::stream_ref on, void* piece, std::size_t, std::size_t = 256) noexcept {
    cudaFreeAsync(piece, on.get());
  }
  bool operator==(const stream_memory&) const = default;
  friend constexpr void get_property(const stream_memory&, cuda::mr::device_accessible) noexcept {}
};

// The handle caches properties of the driver, so RAFT's documentation asks to keep it.
struct session {
  raft::resources handle;

  session() {
    cudaMemPool_t pool = nullptr;
    if (cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess) {
      std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
    }
    raft::resource::set_workspace_resource(handle, raft::mr::device_resource{stream_memory{}},
                                           std::numeric_limits<std::size_t>::max());
  }
};

}  // namespace

// Selects the smallest k, or the largest, of each of q rows of n elements, Q x n row-major on the
// device, into Q x k. Returns CUDA's error; cudaErrorUnknown for an exception of RAFT's.
extern "C" int kselect_peer(const float* rows, float* values, int* indices, int q, int n, int k,
                            int largest, void* stream) {
  static session kept;
  try {
    raft::resource::set_cuda_stream(kept.handle,
                                    cuda::stream_ref{static_cast<cudaStream_t>(stream)});
    raft::matrix::select_k<float, int>(
        kept.handle,
        raft::make_device_matrix_view<const float, std::int64_t, raft::row_major>(rows, q, n),
        std::nullopt,
        raft::make_device_matrix_view<float, std::int64_t, raft::row_major>(values, q, k),
        raft::make_device_matrix_view<int, std::int64_t, raft::row_major>(indices, q, k),
        largest == 0, false, raft::matrix::SelectAlgo::kAuto);
  } catch (...) {
    const cudaError_t failed = cudaGetLastError();
    return failed == cudaSuccess ? cudaErrorUnknown : failed;
  }
  return cudaGetLastError();
}
