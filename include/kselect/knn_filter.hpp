#pragma once
// Which vectors of a corpus a k-NN search may return.

#include <cstdint>

namespace kselect {

// Bits of 32 in a word: vector i is admitted if bit i % 32 of word i / 32 is set. Bits beyond the
// corpus' count have no meaning. A view: the memory is the caller's, and at the search's place.
struct knn_filter {
  const std::uint32_t* words = nullptr;  // null: all vectors are admitted
  // Words from one query's bits to the next one's. 0: the same bits serve all queries.
  std::int64_t pitch = 0;

  // The least pitch for vectors of a corpus with that count.
  static constexpr std::int64_t words_for(std::int64_t count) { return (count + 31) / 32; }

  constexpr bool each() const { return pitch != 0; }
  // The same for queries that begin with number `query`.
  constexpr knn_filter from(std::int64_t query) const {
    return words == nullptr ? *this : knn_filter{words + query * pitch, pitch};
  }
};

}  // namespace kselect
