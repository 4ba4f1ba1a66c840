#include "search/metric/kept_memory.hpp"

#include <bit>

#include "runtime/error.hpp"

namespace kselect::search::metric_space {

device_buffer kept_memory::take(std::size_t bytes) {
  if (auto again = take_fitting(kept_, bytes)) return std::move(*again);
  try {
    return {*place_, bytes};
  } catch (const error&) {
    if (kept_.empty()) throw;
    kept_.clear();
    return {*place_, bytes};
  }
}

std::span<std::byte> kept_memory::staged(std::size_t bytes) {
  if (bytes > host_.size()) {
    host_ = reused_pages(std::bit_ceil(bytes));
  } else {
    host_.use_again(*place_);
  }
  return {host_.data(), bytes};
}

}  // namespace kselect::search::metric_space
