// Shared memory of fibers, with red zones.

#include "src/simt/shared_memory.hpp"

#include <cstring>
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else  // Clang without its sanitizer run-time library
#define ASAN_POISON_MEMORY_REGION(start, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) static_cast<void>(0)
#endif

namespace kselect::simt::detail {

shared_memory::shared_memory(std::size_t storage_bytes, std::size_t dynamic_bytes)
    : storage_bytes_(storage_bytes),
      dynamic_bytes_(dynamic_bytes),
      dynamic_offset_(margin + (storage_bytes + margin - 1) / margin * margin + margin),
      total_bytes_(dynamic_offset_ + dynamic_bytes + margin),
      memory_(static_cast<std::byte*>(::operator new (total_bytes_, std::align_val_t{margin}))),
      start_(memory_.get()) {
  ASAN_POISON_MEMORY_REGION(start_, total_bytes_);
  ASAN_UNPOISON_MEMORY_REGION(storage(), storage_bytes_);
  ASAN_UNPOISON_MEMORY_REGION(dynamic(), dynamic_bytes_);
}

shared_memory::~shared_memory() { ASAN_UNPOISON_MEMORY_REGION(start_, total_bytes_); }

void shared_memory::poison() {
  std::memset(storage(), 0xcd, storage_bytes_);
  std::memset(dynamic(), 0xcd, dynamic_bytes_);
}

}  // namespace kselect::simt::detail
