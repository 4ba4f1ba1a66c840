#include "search/metric/answer_memory.hpp"

#include <algorithm>

namespace kselect::search::metric_space {

// The smallest free pages that are large enough and not much too large. Without memory, if none
// are.
answer_pages::pages answer_pages::fitting(std::size_t bytes) {
  const auto fits = [&](const pages& p) { return p.bytes >= bytes && p.bytes / 2 <= bytes; };
  std::ranges::sort(free_, {}, &pages::bytes);
  const auto found = std::ranges::find_if(free_, fits);
  if (found == free_.end()) return {};
  pages taken = std::move(*found);
  free_.erase(found);
  return taken;
}

std::byte* answer_pages::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_.reserve(lent_.size() + 1);  // so that nothing fails once there is memory
  pages taken = fitting(bytes);
  if (taken.memory == nullptr) {
    taken.memory = make_pages<std::byte>(bytes);
    taken.bytes = bytes;
  } else if (!taken.pin_tried) {
    // To pin memory takes longer than one copy. So a searcher's only answer is not pinned.
    taken.pin_tried = true;
    taken.pinned = place_->pin({taken.memory.get(), taken.bytes});
  }
  lent_.push_back(std::move(taken));
  return lent_.back().memory.get();
}

void answer_pages::give(std::byte* memory) noexcept {
  pages given;  // if they are not kept, they end after the lock does
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(lent_, [&](const pages& p) { return p.memory.get() == memory; });
  given = std::move(*found);
  lent_.erase(found);
  if (place_ != nullptr && free_.size() < most) free_.push_back(std::move(given));
}

void answer_pages::retire() noexcept {
  std::vector<pages> ended;
  const std::lock_guard lock(mutex_);
  place_ = nullptr;
  ended.swap(free_);
}

}  // namespace kselect::search::metric_space
