#pragma once
// Large blocks of host memory, refused in time: with overcommit the kernel would grant anything and
// kill the process on first touch.

#include <cstddef>
#include <memory>
#include <span>

namespace kselect::runtime {

// Bytes of memory the host could still hand out without swapping; 0 if unknown.
std::size_t available_memory();

// `bytes` uninitialised bytes aligned to 256; release with std::free. Throws
// error(failure::resources) when they are not there.
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
