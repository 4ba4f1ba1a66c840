#if KSELECT_HAS_CUDA

#include "runtime/backend/cuda/staged_copies.hpp"

#include <algorithm>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/copy_by_threads.hpp"

namespace kselect::runtime {
namespace {

std::size_t width_at(std::size_t first, std::size_t all) {
  return std::min(staged_copies::buffer_bytes, all - first);
}

}  // namespace

staged_copies::buffer::buffer() {
  void* pinned = nullptr;
  require_cuda(cudaMallocHost(&pinned, buffer_bytes), "cudaMallocHost");
  memory.reset(static_cast<std::byte*>(pinned));
  cudaEvent_t event = nullptr;
  require_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  done.reset(event);
}

staged_copies::staged_copies(int threads) : threads_(threads) {}

void staged_copies::to_device(std::byte* to, std::span<const std::byte> from, cudaStream_t stream) {
  for (std::size_t first = 0; first < from.size(); first += buffer_bytes) {
    const buffer& through = buffer_of(first);
    const std::size_t width = width_at(first, from.size());
    // Returns at once for the first two buffers.
    require_cuda(cudaEventSynchronize(through.done.get()), "cudaEventSynchronize");
    copy_by_threads(through.memory.get(), from.data() + first, width, threads_);
    require_cuda(
        cudaMemcpyAsync(to + first, through.memory.get(), width, cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    require_cuda(cudaEventRecord(through.done.get(), stream), "cudaEventRecord");
  }
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void staged_copies::to_host(std::span<std::byte> to, const std::byte* from, cudaStream_t stream) {
  const auto fetch = [&](std::size_t first) {
    if (first >= to.size()) return;
    const buffer& through = buffer_of(first);
    require_cuda(cudaMemcpyAsync(through.memory.get(), from + first, width_at(first, to.size()),
                                 cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
    require_cuda(cudaEventRecord(through.done.get(), stream), "cudaEventRecord");
  };
  fetch(0);
  for (std::size_t first = 0; first < to.size(); first += buffer_bytes) {
    fetch(first + buffer_bytes);
    const buffer& through = buffer_of(first);
    require_cuda(cudaEventSynchronize(through.done.get()), "cudaEventSynchronize");
    copy_by_threads(to.data() + first, through.memory.get(), width_at(first, to.size()), threads_);
  }
}

}  // namespace kselect::runtime

#endif
