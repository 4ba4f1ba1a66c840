#include "harness/workload/workload.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace kselect::harness {
namespace {

// How many of the first `length` bits are set.
std::int64_t bits_of(const std::uint32_t* words, std::int64_t length) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < length / 32; ++i) count += std::popcount(words[i]);
  if (length % 32 != 0) {
    count += std::popcount(words[length / 32] & ((std::uint32_t{1} << length % 32) - 1));
  }
  return count;
}

}  // namespace

least_input least_input_of(const workload& w) {
  least_input least;
  const std::vector<std::uint32_t> mask = make_mask(w.drawn_mask, w.n, w.q, w.seed);
  const bool ragged = w.row_lengths.kind != length_kind::equal;
  const std::vector<std::int32_t> lengths =
      ragged ? make_lengths(w.row_lengths, w.n, w.q, w.seed) : std::vector<std::int32_t>{};
  std::int64_t longest = 0, all_words = 0;
  for (std::int64_t row = 0; row < w.q; ++row) {
    const std::int64_t length = ragged ? lengths[static_cast<std::size_t>(row)] : w.n;
    least.elements += mask.empty() ? length : bits_of(mask.data() + row * w.mask_pitch, length);
    longest = std::max(longest, words_of_mask(length));
    all_words += words_of_mask(length);
  }
  if (w.mask != mask_bits::none) {
    least.mask_bytes = 4 * (w.mask == mask_bits::columns ? longest : all_words);
  }
  return least;
}

}  // namespace kselect::harness
