#pragma once
// Splits a workspace into typed arrays. One layout function serves for both layout and size:
// started at null, the carver only sums up the sizes.

#include <cstddef>
#include <cstdint>

#include "kselect/simt/types.hpp"

namespace kselect::simt {

class carver {
 public:
  // `start`: aligned to 256 bytes, or null to sum up sizes.
  explicit carver(std::byte* start) : start_(start) {}

  // The next `count` elements, aligned to 256 bytes.
  template <class T>
  global<T> take(std::int64_t count) {
    constexpr std::size_t alignment = 256;
    auto* const piece = start_ == nullptr ? nullptr : reinterpret_cast<T*>(start_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + alignment - 1) / alignment * alignment;
    return {piece, count};
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* start_;
  std::size_t used_ = 0;
};

}  // namespace kselect::simt
