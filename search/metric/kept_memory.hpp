#pragma once
// Memory that a search leaves for the next: to take and to release it takes longer than many a
// search. On the device, and on the host for copies to and from it.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "search/metric/kept_blocks.hpp"

namespace kselect::search::metric_space {

// For one thread.
class kept_memory {
 public:
  explicit kept_memory(backend& place) : place_(&place) { kept_.reserve(most); }
  backend& place() const { return *place_; }

  // Device memory of at least so many bytes. Throws failure::resources.
  device_buffer take(std::size_t bytes);
  void give(device_buffer buffer) noexcept {
    if (kept_.size() < most) kept_.push_back(std::move(buffer));
  }

  // Host memory of so many bytes, at most most_staged, unset. From its second use on it is pinned
  // if that makes copies faster. The next call may end it. Throws std::bad_alloc.
  std::span<std::byte> staged(std::size_t bytes);
  static constexpr std::size_t most_staged = std::size_t{32} << 20;

 private:
  static constexpr std::size_t most = 32;  // buffers
  backend* place_;
  std::vector<device_buffer> kept_;
  reused_pages host_;
};

// A buffer that goes back where it was taken from, if anywhere.
class lent_buffer {
 public:
  lent_buffer() = default;
  explicit lent_buffer(device_buffer own) : buffer_(std::move(own)) {}
  lent_buffer(kept_memory& home, std::size_t bytes) : buffer_(home.take(bytes)), home_(&home) {}
  lent_buffer(lent_buffer&& other) noexcept
      : buffer_(std::move(other.buffer_)), home_(std::exchange(other.home_, nullptr)) {}
  lent_buffer& operator=(lent_buffer&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(home_, other.home_);
    return *this;
  }
  ~lent_buffer() {
    if (home_ != nullptr) home_->give(std::move(buffer_));
  }
  std::byte* data() const { return buffer_.data(); }

 private:
  device_buffer buffer_;
  kept_memory* home_ = nullptr;
};

}  // namespace kselect::search::metric_space
