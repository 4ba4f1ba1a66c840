#pragma once
// Buffered multi-select: about where the k-th value of a row is, by counting floats into bins of
// equal width.
//
// A bin is a product, a sum and an exponent: three instructions, none of them for integers, where
// bins of integer keys take eight. That values are rounded on their way there, and that a guess is
// behind the bins, does no harm: a bracket is no statement about the row. Who uses it counts what
// is below and inside, and has another way for rows whose values are NaNs, or so unlike each other
// that most share a bin.

#include "algorithms/buffered_multi_select/narrowing.cuh"

namespace kselect::bms {

// The k-th smallest should be above `low` and not above `high`; infinite where a row's end is. If
// it is not `known`, it may be `beyond` all bins.
struct bracket {
  float low, high;
  bool known, beyond;
};

// The bracket of the k-th of all values that `visit(f)` calls f(value) for, the caller's share of
// them. `guess`: keys between which it should be; bins reach from the lower to twice the distance
// of the other at most, and 2^wider times as far. All threads of the team, which return the same;
// shared.bin is none. If it is known, there has been a sync.
template <class Team, class Source>
KSELECT_HD bracket bracket_of(Team& team, narrowing<Team>& narrow,
                              const key_range<typename Team::key>& guess, int wider, position k,
                              const Source& visit) {
  using as_element = element<typename Team::stored>;
  const float first = as_element::value_of(guess.low);
  if (guess.low == guess.high) {  // most likely that is all there is
    team.sync();
    return {as_element::value_of(static_cast<typename Team::key>(guess.low - 1)), first, true,
            false};
  }
  const auto log_bins = static_cast<std::uint32_t>(team.shape.bin_bits);
  // All widths are powers of two, as those have reciprocals for nothing.
  const std::uint32_t exponent =
      (bits_of(as_element::value_of(guess.high) - first) >> 23) + static_cast<std::uint32_t>(wider);
  if (exponent < log_bins || exponent > 252) return {};  // they are one, or not numbers
  const float scale = std::bit_cast<float>((253 - exponent) << 23);
  const float width = std::bit_cast<float>((exponent + 1 - log_bins) << 23);
  // A float's least bit is worth 2^-149; so the bits of this many times a number up to 1 are the
  // nearest bin's number.
  const float bits_each = std::bit_cast<float>(1U << log_bins);
  const float offset = -first * scale;
  const position bin = narrow.bin_of_rank(k, [&](const auto& f) {
    visit([&](float x) { f(bits_of(team.simt.fma_clamped(x, scale, offset) * bits_each)); });
  });
  if (bin >> log_bins != 0) return {0, 0, false, true};
  // A little wider than the bin: what has been rounded is not to fall out of it.
  constexpr float reach = 0.5F + 0x1p-7F;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto middle = static_cast<float>(bin);
  return {bin == 0 ? -infinity : first + (middle - reach) * width, first + (middle + reach) * width,
          true, false};
}

}  // namespace kselect::bms
