#pragma once
// Order statistics of a cell's samples. Medians and order-statistic intervals need no assumption
// that times are normally distributed (they are not: Hoefler & Belli, SC'15).

#include <cstddef>
#include <span>
#include <vector>

namespace kselect::harness {

struct summary {
  double median = 0;
  double q1 = 0, q3 = 0;  // quartiles, interpolated linearly between order statistics
  double min = 0, max = 0;
  // Two-sided interval of the median from order statistics, the narrowest with at least 95 %
  // coverage; [min, max] below six samples, where no such pair of ranks exists.
  double ci_low = 0, ci_high = 0;
  // (ci_high - ci_low) / median, the spread that decides when to stop; 0 for a zero median.
  double relative_interval() const;
};

// Of at least one sample; the order does not matter.
summary summarise(std::span<const double> samples);

// Positions of the samples that lie more than three interquartile ranges outside the quartiles
// (Tukey's outer fences). They are told, never dropped.
std::vector<std::size_t> far_out(std::span<const double> samples);

}  // namespace kselect::harness
