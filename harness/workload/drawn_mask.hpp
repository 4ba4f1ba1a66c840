#pragma once
// Masks of a sweep's cells: how many elements one admits, and its bits.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/problem.hpp"

namespace kselect::harness {

struct drawn_mask {
  mask_bits kind = mask_bits::none;
  double share = 0;  // of the elements that are admitted, in (0, 1]; 0 without a mask

  bool operator==(const drawn_mask&) const = default;
};

// As text: `none`, `columns(0.01)`, `elements(0.5)`.
std::string to_string(const drawn_mask& m);

// Inverse of to_string; a share left out is 0.1. Empty if the text is none of these, or the share
// is not more than 0 and at most 1.
std::optional<drawn_mask> parse_drawn_mask(std::string_view text);

// The words of a row's bits.
constexpr std::int64_t words_of_mask(std::int64_t n) { return (n + 31) / 32; }

// The bits for q rows of n elements: words_of_mask(n) words that all rows share (`columns`), or so
// many for each row (`elements`); none without a mask. Each bit is drawn by itself from the seed,
// to 2^-32 of the share. Bits behind a row are 0.
std::vector<std::uint32_t> make_mask(const drawn_mask& m, std::int64_t n, std::int64_t q,
                                     std::uint64_t seed);

}  // namespace kselect::harness
