#include "runtime/backend/host_memory.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::runtime {

std::byte* allocate_host(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  const std::size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  const std::size_t there = available_memory();
  void* const memory =
      there != 0 && bytes > there ? nullptr : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    constexpr double mebibyte = 1 << 20;
    throw error(
        failure::resources,
        fmt::format("cannot allocate {:.1f} MiB of host memory: {:.1f} MiB are available",
                    static_cast<double>(bytes) / mebibyte, static_cast<double>(there) / mebibyte));
  }
  return static_cast<std::byte*>(memory);
}

void host_buffer::releaser::operator()(std::byte* memory) const noexcept { std::free(memory); }

}  // namespace kselect::runtime
