#include "search/metric/answer_memory.hpp"

#include <algorithm>

namespace kselect::search::metric_space {

std::byte* answer_pages::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_.reserve(lent_.size() + 1);  // so that nothing fails once there is memory
  if (auto again = take_fitting(free_, bytes)) {
    again->use_again(*place_);
    lent_.push_back(std::move(*again));
  } else {
    lent_.push_back(reused_pages(bytes));
  }
  return lent_.back().data();
}

void answer_pages::give(std::byte* memory) noexcept {
  reused_pages given;  // if they are not kept, they end after the lock does
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(lent_, [&](const reused_pages& p) { return p.data() == memory; });
  given = std::move(*found);
  lent_.erase(found);
  if (place_ != nullptr && free_.size() < most) free_.push_back(std::move(given));
}

void answer_pages::retire() noexcept {
  std::vector<reused_pages> ended;
  const std::lock_guard lock(mutex_);
  place_ = nullptr;
  ended.swap(free_);
}

}  // namespace kselect::search::metric_space
