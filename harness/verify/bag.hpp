#pragma once
// A multiset of bit patterns of bounded size, for answers without indices: the checker puts the
// better elements of the row in and takes the returned ones out. Open addressing with linear
// probing, at most half full, makes both operations O(1). Sorting the two lists would cost more
// than the pass over a short row.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace kselect::harness::verification {

template <class Bits>
class bag {
 public:
  explicit bag(std::int64_t capacity)
      : slots_(std::bit_ceil(2 * static_cast<std::size_t>(capacity))),
        shift_(64 - std::countr_zero(slots_.size())) {}

  // Replaces the content by at most `capacity` patterns.
  void assign(std::span<const Bits> patterns) {
    std::fill(slots_.begin(), slots_.end(), slot{});
    for (const Bits pattern : patterns) {
      slot& place = find(pattern);
      place = {pattern, true, place.count + 1};
    }
  }

  // Takes out one copy; false if there is none left.
  bool take(Bits pattern) {
    slot& place = find(pattern);
    if (place.count == 0) return false;
    --place.count;
    return true;
  }

 private:
  struct slot {
    Bits pattern = 0;
    bool used = false;  // stays set when count drops to 0: a probe for a later pattern must pass it
    std::int64_t count = 0;
  };

  // The slot of the pattern, or the unused one where it would go.
  slot& find(Bits pattern) {
    std::size_t at = (std::uint64_t{pattern} * 0x9e3779b97f4a7c15ULL) >> shift_;
    while (slots_[at].used && slots_[at].pattern != pattern) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  std::vector<slot> slots_;
  int shift_;  // the table size is 2^(64 - shift_): Fibonacci hashing keeps the product's top bits
};

}  // namespace kselect::harness::verification
