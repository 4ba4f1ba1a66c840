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
    of_size& all = of_sizes_[bytes];
    all.most = std::max(all.most, ++all.held);
    return memory;
  }
  void release(std::byte* memory) noexcept override {
    const std::scoped_lock lock(guard_);
    if (memory == nullptr) return;
    const std::size_t bytes = sizes_.extract(memory).mapped();
    held_ -= bytes;
    --of_sizes_[bytes].held;
    on_fibers::release(memory);
  }

  std::int64_t held() const { return static_cast<std::int64_t>(held_); }
  std::int64_t most() const { return static_cast<std::int64_t>(most_); }
  // How many blocks of exactly this size were held at once.
  int most_of(std::size_t bytes) { return of_sizes_[bytes].most; }

 private:
  std::mutex guard_;
  std::map<std::byte*, std::size_t> sizes_;
  struct of_size {
    int held = 0, most = 0;
  };
  std::map<std::size_t, of_size> of_sizes_;
  std::size_t held_ = 0, most_ = 0;
};

}  // namespace kselect
