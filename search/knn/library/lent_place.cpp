#include "search/knn/library/lent_place.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "runtime/error.hpp"

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kselect::search {
namespace {

using runtime::error;
using runtime::failure;

#if KSELECT_HAS_CUDA
void require_cuda(cudaError_t code, failure category, const char* what) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw error(category, std::string(what) + ": " + cudaGetErrorString(code));
}
#endif

}  // namespace

lent_place::lent_place(const place& where, std::span<std::byte> memory) : where_(where) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
  const std::size_t skipped = std::min(memory.size(), beyond == 0 ? 0 : alignment - beyond);
  memory_ = memory.subspan(skipped);
}

lent_place::~lent_place() {
  while (!owned_.empty()) release(owned_.back());
}

std::byte* lent_place::lend(std::size_t bytes) {
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  const std::size_t at = used_;
  used_ += whole;
  // Not null and aligned, so that a search takes it for memory.
  if (memory_.data() == nullptr) return reinterpret_cast<std::byte*>(alignment + at);
  if (used_ > memory_.size()) {
    throw error(failure::resources, "the memory that was lent has " +
                                        std::to_string(memory_.size()) + " bytes, but " +
                                        std::to_string(used_) + " are needed");
  }
  return memory_.data() + at;
}

std::byte* lent_place::allocate(std::size_t bytes) {
  if (!owns_) return lend(bytes);
  owned_.push_back(nullptr);
#if KSELECT_HAS_CUDA
  if (!shares_host_memory()) {
    void* memory = nullptr;
    const cudaError_t code = cudaMalloc(&memory, bytes);
    if (code != cudaSuccess) owned_.pop_back();
    require_cuda(code, failure::resources, "no memory to do queries again");
    return owned_.back() = static_cast<std::byte*>(memory);
  }
#endif
  void* const memory = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr) {
    owned_.pop_back();
    throw error(failure::resources, "no memory to do queries again");
  }
  return owned_.back() = static_cast<std::byte*>(memory);
}

void lent_place::release(std::byte* memory) noexcept {
  const auto found = std::find(owned_.begin(), owned_.end(), memory);
  if (found == owned_.end()) return;
  owned_.erase(found);
#if KSELECT_HAS_CUDA
  if (!shares_host_memory()) {
    cudaFree(memory);
    return;
  }
#endif
  ::operator delete (memory, std::align_val_t{alignment});
}

void lent_place::move_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
#if KSELECT_HAS_CUDA
  if (!shares_host_memory()) {
    const auto stream = static_cast<cudaStream_t>(executor().stream);
    require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), failure::unsupported,
                 "a copy failed");
    require_cuda(cudaStreamSynchronize(stream), failure::unsupported, "a kernel failed");
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

void lent_place::to_device(std::byte* to, std::span<const std::byte> from) {
  move_bytes(to, from.data(), from.size());
}
void lent_place::to_host(std::span<std::byte> to, const std::byte* from) {
  move_bytes(to.data(), from, to.size());
}
void lent_place::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  move_bytes(to, from, bytes);
}

status lent_place::synchronise() {
#if KSELECT_HAS_CUDA
  if (!shares_host_memory()) {
    const cudaError_t code = cudaStreamSynchronize(static_cast<cudaStream_t>(executor().stream));
    if (code != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return {status_code::failed, std::string("a kernel failed: ") + cudaGetErrorString(code)};
    }
  }
#endif
  return {};
}

}  // namespace kselect::search
