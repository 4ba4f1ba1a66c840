#if KSELECT_HAS_CUDA

#include "runtime/backend/cuda/staged_copies.hpp"

#include <algorithm>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/copy_by_threads.hpp"

namespace kselect::runtime {
staged_copies::buffer::buffer() {
  void* pinned = nullptr;
  require_cuda(cudaMallocHost(&pinned, buffer_bytes), "cudaMallocHost");
  memory.reset(static_cast<std::byte*>(pinned));
  cudaEvent_t event = nullptr;
  require_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  done.reset(event);
}

staged_copies::staged_copies(int threads) : threads_(threads) {}

std::size_t staged_copies::piece_of(std::size_t all) {
  return std::clamp((all + 2) / 3, worthwhile_bytes, buffer_bytes);
}

void staged_copies::to_device(std::byte* to, std::span<const std::byte> from, cudaStream_t stream) {
  const std::size_t piece = piece_of(from.size());
  for (std::size_t first = 0; first < from.size(); first += piece) {
    const buffer& through = buffers_[first / piece % 2];
    const std::size_t width = std::min(piece, from.size() - first);
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
  const std::size_t piece = piece_of(to.size());
  const auto width_at = [&](std::size_t first) { return std::min(piece, to.size() - first); };
  const auto fetch = [&](std::size_t first) {
    if (first >= to.size()) return;
    const buffer& through = buffers_[first / piece % 2];
    require_cuda(cudaMemcpyAsync(through.memory.get(), from + first, width_at(first),
                                 cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
    require_cuda(cudaEventRecord(through.done.get(), stream), "cudaEventRecord");
  };
  fetch(0);
  for (std::size_t first = 0; first < to.size(); first += piece) {
    fetch(first + piece);
    const buffer& through = buffers_[first / piece % 2];
    require_cuda(cudaEventSynchronize(through.done.get()), "cudaEventSynchronize");
    copy_by_threads(to.data() + first, through.memory.get(), width_at(first), threads_);
  }
}

}  // namespace kselect::runtime

#endif
