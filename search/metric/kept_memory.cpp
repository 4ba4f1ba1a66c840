#include "search/metric/kept_memory.hpp"

#include <algorithm>
#include <bit>

#include "runtime/error.hpp"

namespace kselect::search::metric_space {

device_buffer kept_memory::take(std::size_t bytes) {
  const auto fits = [&](const device_buffer& b) {
    return b.size() >= bytes && b.size() / 2 <= std::max<std::size_t>(bytes, 1 << 16);
  };
  const auto least = [](const device_buffer& a, const device_buffer& b) {
    return a.size() < b.size();
  };
  std::ranges::sort(kept_, least);
  const auto found = std::ranges::find_if(kept_, fits);
  if (found != kept_.end()) {
    device_buffer taken = std::move(*found);
    kept_.erase(found);
    return taken;
  }
  try {
    return {*place_, bytes};
  } catch (const error&) {
    if (kept_.empty()) throw;
    kept_.clear();
    return {*place_, bytes};
  }
}

std::span<std::byte> kept_memory::staged(std::size_t bytes) {
  if (bytes > host_bytes_) {
    const std::size_t room = std::bit_ceil(bytes);
    auto pages = make_pages<std::byte>(room);
    pinned_.reset();
    host_ = std::move(pages);
    host_bytes_ = room;
    pin_tried_ = false;
  } else if (!pin_tried_) {
    // To pin memory takes longer than one copy.
    pin_tried_ = true;
    pinned_ = place_->pin({host_.get(), host_bytes_});
  }
  return {host_.get(), bytes};
}

}  // namespace kselect::search::metric_space
