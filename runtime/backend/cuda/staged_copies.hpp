#pragma once
// Copies of many bytes between pageable host memory and a GPU. The driver moves such memory with
// one thread. Here several threads move it between the caller's memory and one of two pinned
// buffers, while the other buffer's copy to or from the GPU is under way.

#include <cstddef>
#include <cuda_runtime_api.h>
#include <memory>
#include <span>
#include <type_traits>

namespace kselect::runtime {

class staged_copies {
 public:
  // Fewer bytes are not worth it: one thread moves them in the time that several need to begin.
  static constexpr std::size_t worthwhile_bytes = std::size_t{2} << 20;
  static constexpr std::size_t buffer_bytes = std::size_t{16} << 20;

  // At most `threads` threads move bytes. Throws error(failure::resources) if the host has no
  // memory to pin.
  explicit staged_copies(int threads);

  // Return when the bytes are there. Work that `stream` had before is done first.
  void to_device(std::byte* to, std::span<const std::byte> from, cudaStream_t stream);
  void to_host(std::span<std::byte> to, const std::byte* from, cudaStream_t stream);

 private:
  struct unpin {
    void operator()(std::byte* memory) const noexcept { cudaFreeHost(memory); }
  };
  struct destroy {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
  };
  struct buffer {
    buffer();
    std::unique_ptr<std::byte, unpin> memory;
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy> done;  // its copy has ended
  };
  // The bytes of `all` that go through a buffer at a time: pieces that threads move while the next
  // is copied.
  static std::size_t piece_of(std::size_t all);

  int threads_;
  buffer buffers_[2];
};

}  // namespace kselect::runtime
