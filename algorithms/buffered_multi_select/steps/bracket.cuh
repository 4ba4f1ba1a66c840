#pragma once
// Buffered multi-select: an approximate bracket of a row's k-th value, by counting floats into bins
// of equal width.
//
// A bin takes a product, a sum and an exponent: three instructions, none for integers, where bins
// of integer keys take eight. The values are rounded and the bins depend on a guess. This is
// harmless: a bracket states nothing about the row. Its user counts the elements below and inside,
// and has another way for rows with NaNs, or with values so unlike each other that most share a
// bin.

#include "algorithms/buffered_multi_select/steps/narrowing.cuh"

namespace kselect::bms {

// The k-th smallest should be above `low` and not above `high`; either may be infinite. If it is
// not `known`, the k-th may be `beyond` all bins.
struct bracket {
  float low, high;
  bool known, beyond;
};

// The bracket of the k-th of all values; `visit(f)` calls f(value) for the caller's share. The k-th
// should lie in `guess`. Bins reach from guess.low to at most twice the distance of guess.high,
// times 2^wider. All threads of the team call it and return the same. shared.bin is ~0
// before. If the bracket is known, there has been a sync.
template <class Team, class Source>
KSELECT_HD bracket bracket_of(Team& team, narrowing<Team>& narrow,
                              const key_range<typename Team::key>& guess, int wider, position k,
                              const Source& visit) {
  using as_element = element<typename Team::stored>;
  const float first = as_element::value_of(guess.low);
  if (guess.low == guess.high) {  // most likely all values are equal
    team.sync();
    return {as_element::value_of(static_cast<typename Team::key>(guess.low - 1)), first, true,
            false};
  }
  const auto log_bins = static_cast<std::uint32_t>(team.shape.bin_bits);
  // All widths are powers of two, whose reciprocals cost nothing.
  const std::uint32_t exponent =
      (bits_of(as_element::value_of(guess.high) - first) >> 23) + static_cast<std::uint32_t>(wider);
  if (exponent < log_bins || exponent > 252) return {};  // too close for bins, or not finite
  const float scale = std::bit_cast<float>((253 - exponent) << 23);
  const float width = std::bit_cast<float>((exponent + 1 - log_bins) << 23);
  // A float's least bit is worth 2^-149. So for x up to 1 the bits of x * bits_each are the number
  // of the nearest bin.
  const float bits_each = std::bit_cast<float>(1U << log_bins);
  const float offset = -first * scale;
  const position bin = narrow.bin_of_rank(k, [&](const auto& f) {
    visit([&](float x) { f(bits_of(team.simt.fma_clamped(x, scale, offset) * bits_each)); });
  });
  if (bin >> log_bins != 0) return {0, 0, false, true};
  // A little wider than the bin, so that no value of it falls outside by rounding.
  constexpr float reach = 0.5F + 0x1p-7F;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto middle = static_cast<float>(bin);
  return {bin == 0 ? -infinity : first + (middle - reach) * width, first + (middle + reach) * width,
          true, false};
}

}  // namespace kselect::bms
