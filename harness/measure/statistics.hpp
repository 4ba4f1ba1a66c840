#pragma once
// Order statistics of a cell's samples. They do not assume that times are normally distributed,
// which times are not (Hoefler & Belli, SC'15).

#include <cstddef>
#include <span>
#include <vector>

namespace kselect::harness {

struct summary {
  double median = 0;
  double q1 = 0, q3 = 0;  // quartiles, interpolated linearly between order statistics
  double min = 0, max = 0;
  // Interval of the median from order statistics: the narrowest with at least 95 % coverage. Below
  // six samples no ranks reach it; then [min, max].
  double ci_low = 0, ci_high = 0;
  // (ci_high - ci_low) / median, which decides when to stop; 0 if the median is zero.
  double relative_interval() const;
};

// `samples`: at least one, in any order.
summary summarise(std::span<const double> samples);

// Positions of the samples that lie more than three interquartile ranges outside the quartiles
// (Tukey's outer fences). They are flagged, never dropped.
std::vector<std::size_t> far_out(std::span<const double> samples);

}  // namespace kselect::harness
