#pragma once
// Fibers that count the bytes of their memory. Any thread may allocate and release.

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "tests/on_fibers.hpp"

namespace kselect {

class counting_fibers final : public on_fibers {
 public:
  explicit counting_fibers(int threads) : on_fibers(threads) {}
  std::byte* allocate(std::size_t bytes) override {
    const std::scoped_lock lock(guard_);
    std::byte* const memory = on_fibers::allocate(bytes);
    sizes_[memory] = bytes;
    held_ += bytes;
    most_ = std::max(most_, held_);
    return memory;
  }
  void release(std::byte* memory) noexcept override {
    const std::scoped_lock lock(guard_);
    if (memory == nullptr) return;
    held_ -= sizes_.extract(memory).mapped();
    on_fibers::release(memory);
  }

  std::int64_t held() const { return static_cast<std::int64_t>(held_); }
  std::int64_t most() const { return static_cast<std::int64_t>(most_); }

 private:
  std::mutex guard_;
  std::map<std::byte*, std::size_t> sizes_;
  std::size_t held_ = 0, most_ = 0;
};

}  // namespace kselect
