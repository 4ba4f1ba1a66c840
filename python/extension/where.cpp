#include "python/extension/where.hpp"

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kselect::python {
namespace {

// Makes `gpu` current and returns the GPU that was; -1 if nothing is to be restored.
int enter([[maybe_unused]] int gpu) {
#if KSELECT_HAS_CUDA
  int before = 0;
  if (gpu >= 0 && cudaGetDevice(&before) == cudaSuccess && before != gpu &&
      cudaSetDevice(gpu) == cudaSuccess) {
    return before;
  }
#endif
  return -1;
}

}  // namespace

where::where(const array& a, int threads, void* stream)
    : before_(enter(a.on_gpu ? a.gpu : -1)),
      place_(a.on_gpu ? place::cuda(stream) : place::cpu(threads)) {}

where::~where() { enter(before_); }

}  // namespace kselect::python
