#pragma once
// One block's shared memory: the kernel's storage, then the dynamic part. AddressSanitizer rejects
// accesses between and around the two.

#include <cstddef>
#include <memory>
#include <new>

namespace kselect::simt::detail {

class shared_memory {
 public:
  shared_memory(std::size_t storage_bytes, std::size_t dynamic_bytes);
  ~shared_memory();
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  // Fills it with 0xCD, in place of the data that another block would leave.
  void poison();
  void* storage() const { return start_ + margin; }
  void* dynamic() const { return start_ + dynamic_offset_; }

 private:
  static constexpr std::size_t margin = 128;  // also the alignment of both parts

  struct free_aligned {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{margin}); }
  };

  std::size_t storage_bytes_;
  std::size_t dynamic_bytes_;
  std::size_t dynamic_offset_;
  std::size_t total_bytes_;
  std::unique_ptr<std::byte, free_aligned> memory_;
  std::byte* start_;
};

}  // namespace kselect::simt::detail
