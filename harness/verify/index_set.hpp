#pragma once
// Tells whether k indices are distinct. A bitmap over the row serves if it is small beside the
// cache or the indices; it is cleared index by index, so a row costs O(k), not O(n). Otherwise a
// sorted copy of the indices serves: at n = 2^32 a bitmap would take half a gibibyte.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace kselect::harness::verification {

class index_set {
 public:
  index_set(std::int64_t n, std::int64_t k)
      : bitmap_(n <= cached_bits || n / 64 <= k ? static_cast<std::size_t>(n / 64 + 1) : 0),
        sorted_(bitmap_.empty() ? static_cast<std::size_t>(k) : 0) {}

  // A position whose index also stands at a smaller one, or -1. The indices lie in [0, n).
  template <class Index>
  std::int64_t repeated(std::span<const Index> indices) {
    return bitmap_.empty() ? repeated_by_sorting(indices) : repeated_by_bitmap(indices);
  }

 private:
  static constexpr std::int64_t cached_bits = std::int64_t{1} << 23;  // 1 MiB

  template <class Index>
  std::int64_t repeated_by_bitmap(std::span<const Index> indices) {
    std::size_t j = 0;
    for (; j < indices.size(); ++j) {
      std::uint64_t& word = bitmap_[static_cast<std::size_t>(indices[j]) / 64];
      const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::size_t>(indices[j]) % 64);
      if ((word & bit) != 0) break;
      word |= bit;
    }
    for (const Index index : indices.first(j)) bitmap_[static_cast<std::size_t>(index) / 64] = 0;
    return j == indices.size() ? -1 : static_cast<std::int64_t>(j);
  }

  template <class Index>
  std::int64_t repeated_by_sorting(std::span<const Index> indices) {
    std::copy(indices.begin(), indices.end(), sorted_.begin());
    std::sort(sorted_.begin(), sorted_.end());
    const auto twin = std::adjacent_find(sorted_.begin(), sorted_.end());
    if (twin == sorted_.end()) return -1;
    const auto once = std::find(indices.begin(), indices.end(), static_cast<Index>(*twin));
    const auto again = std::find(once + 1, indices.end(), static_cast<Index>(*twin));
    return again - indices.begin();
  }

  std::vector<std::uint64_t> bitmap_;  // all zero between calls; empty: use sorted_
  std::vector<std::int64_t> sorted_;
};

}  // namespace kselect::harness::verification
