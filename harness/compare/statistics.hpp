#pragma once
// Exact order statistics for comparing two sides by their rounds. Nothing here assumes that times
// are normally distributed. Every p value tests the hypothesis that the typical log-ratio is
// `shift` or lies beyond it.
//
// Sources: the interval of the median from order statistics (Conover, Practical Nonparametric
// Statistics, 3.2); the signed-rank test of Wilcoxon 1945 and the rank-sum test of Mann and Whitney
// 1947, both with midranks for ties, their estimates by Hodges & Lehmann 1963 and the intervals
// that invert them (Hollander & Wolfe, Nonparametric Statistical Methods, 3.1-3.3 and 4.1-4.3);
// corrections by Benjamini & Hochberg 1995 and Holm 1979.

#include <cstddef>
#include <span>
#include <vector>

namespace kselect::harness::compare {

// The median of at least one value, in any order. For an even number, the mean of the middle two.
double median(std::span<const double> values);

// A bound is infinite if there are too few values for the requested confidence.
struct interval {
  double low, high;
  bool operator==(const interval&) const = default;
};

// One-sided p values: the probability of data at least as far above (below) `shift` as observed if
// the typical value were `shift`.
struct tails {
  double above = 1;
  double below = 1;
};

// The rank r of the median's interval: how many of n sorted values to count from each end. Ranks r
// (from 1) and n + 1 - r bound the median with at least `confidence`. 0 if no rank does.
std::size_t sign_rank(std::size_t n, double confidence);
// The narrowest interval of the median between two order statistics with at least `confidence`.
interval median_interval(std::span<const double> values, double confidence);

// The tests and intervals below are exact up to this many values in all. Beyond, they use the
// normal approximation with corrections for ties and continuity.
inline constexpr std::size_t most_exact = 60;

// One sample, symmetric about a centre: paired differences. `w` sums the ranks of |value - shift|
// over the values above `shift`; values equal to `shift` are left out. `p`: how likely a sum that
// large or that small is if the centre is `shift`.
struct signed_rank {
  double w = 0;
  tails p;
};
signed_rank wilcoxon(std::span<const double> values, double shift);
// The rank c of the centre's interval: the c-th smallest and largest of the n (n + 1) / 2 Walsh
// averages (means of two values, each also with itself) bound the centre. 0 if no rank does.
std::size_t centre_rank(std::size_t n, double confidence);
// The median of the Walsh averages, and the interval of the centre.
double centre_estimate(std::span<const double> values);
interval centre_interval(std::span<const double> values, double confidence);

// Two samples. `u` is the number of pairs (a, b) with b > a, ties counting half. `p`: how likely
// that many or that few are if both samples come from one distribution.
struct rank_sum {
  double u = 0;
  tails p;
};
rank_sum mann_whitney(std::span<const double> a, std::span<const double> b);
// The rank c of the shift's interval: the c-th smallest and largest of the m * n differences bound
// the shift. 0 if no rank does.
std::size_t shift_rank(std::size_t m, std::size_t n, double confidence);
// The shift from a to b, estimated as the median of all differences b - a (Hodges & Lehmann), and
// its interval.
double shift_estimate(std::span<const double> a, std::span<const double> b);
interval shift_interval(std::span<const double> a, std::span<const double> b, double confidence);

// P values adjusted for multiple testing, in the order given; reject where <= level. Benjamini and
// Hochberg bound the share of false rejections, Holm the chance of any.
std::vector<double> benjamini_hochberg(std::span<const double> p);
std::vector<double> holm(std::span<const double> p);

}  // namespace kselect::harness::compare
