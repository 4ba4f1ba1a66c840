#pragma once
// Large blocks of host memory. A request beyond the available memory fails at once. With overcommit
// the kernel would grant it and kill the process on first touch.

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/available_memory.hpp"

namespace kselect::runtime {

// `bytes` uninitialised bytes aligned to 256; release them with std::free. Throws
// error(failure::resources) if they are not available.
std::byte* allocate_host(std::size_t bytes);

class host_buffer {
 public:
  host_buffer() = default;
  explicit host_buffer(std::size_t bytes) : memory_(allocate_host(bytes)), bytes_(bytes) {}

  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  struct releaser {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte[], releaser> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace kselect::runtime
