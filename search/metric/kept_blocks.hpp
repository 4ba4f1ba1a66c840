#pragma once
// Blocks of memory that are kept for later: which one serves, and host memory that is pinned.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "runtime/page_memory.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

// Takes the smallest block that is large enough and not much too large. Nothing if none is.
template <class Block>
std::optional<Block> take_fitting(std::vector<Block>& kept, std::size_t bytes) {
  const auto fits = [&](const Block& b) {
    return b.size() >= bytes && b.size() / 2 <= std::max<std::size_t>(bytes, 1 << 16);
  };
  std::ranges::sort(kept, {}, &Block::size);
  const auto found = std::ranges::find_if(kept, fits);
  if (found == kept.end()) return std::nullopt;
  Block taken = std::move(*found);
  kept.erase(found);
  return taken;
}

// Host memory that is pinned once it is used again: to pin it takes longer than one copy.
class reused_pages {
 public:
  reused_pages() = default;
  // Unset. Throws std::bad_alloc.
  explicit reused_pages(std::size_t bytes) : memory_(make_pages<std::byte>(bytes)), size_(bytes) {}
  reused_pages(reused_pages&&) = default;
  reused_pages& operator=(reused_pages&& other) noexcept {
    pinned_ = std::move(other.pinned_);  // first: pinned memory is not freed
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    pin_tried_ = other.pin_tried_;
    return *this;
  }
  ~reused_pages() = default;

  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  void use_again(backend& place) {
    if (std::exchange(pin_tried_, true)) return;
    pinned_ = place.pin({memory_.get(), size_});
  }

 private:
  page_array<std::byte> memory_;
  std::size_t size_ = 0;
  bool pin_tried_ = false;
  std::shared_ptr<void> pinned_;  // ends before the memory does
};

}  // namespace kselect::search::metric_space
