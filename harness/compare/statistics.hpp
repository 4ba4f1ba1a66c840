#pragma once
// Exact order statistics for comparing two sides by their rounds. Nothing here assumes normal
// times; all p values are of the hypothesis that the typical log-ratio is `shift` or lies beyond
// it.
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

// Of at least one value, in any order; the mean of the two middle ones of an even number.
double median(std::span<const double> values);

// Infinite where too few values bound it at the confidence asked for.
struct interval {
  double low, high;
  bool operator==(const interval&) const = default;
};

// Probabilities, one-sided: of data at least as far above (below) `shift` as seen if the typical
// value were `shift`.
struct tails {
  double above = 1;
  double below = 1;
};

// How many of n values may be cut at each end so that the median still lies strictly inside with at
// least `confidence`: rank r (from 1) and its mirror n + 1 - r bound it. 0: no rank does.
std::size_t sign_rank(std::size_t n, double confidence);
// The narrowest interval of the median between two order statistics with at least that confidence.
interval median_interval(std::span<const double> values, double confidence);

// Exact up to 60 values in all, beyond that by the normal approximation with correction for ties
// and continuity; the intervals below likewise.
inline constexpr std::size_t most_exact = 60;

// One sample, symmetric about a centre: paired differences. The sum of the ranks of |value - shift|
// over the values above `shift` (values equal to it are left out), and how likely so large or so
// small a sum is if the centre were `shift`.
struct signed_rank {
  double w = 0;
  tails p;
};
signed_rank wilcoxon(std::span<const double> values, double shift);
// The number c of ordered Walsh averages to cut at each end: the c-th smallest and largest of the
// n (n + 1) / 2 averages of two values (each with itself too) bound the centre. 0: none does.
std::size_t centre_rank(std::size_t n, double confidence);
// The median of the Walsh averages, and the interval of the centre.
double centre_estimate(std::span<const double> values);
interval centre_interval(std::span<const double> values, double confidence);

// Two samples. The number of pairs (a, b) with b > a, ties counting half, and how likely so many or
// so few are if both come from one distribution.
struct rank_sum {
  double u = 0;
  tails p;
};
rank_sum mann_whitney(std::span<const double> a, std::span<const double> b);
// The number c of ordered differences to cut at each end for the interval of the shift: the c-th
// smallest and largest of the m * n differences bound it. 0: none does.
std::size_t shift_rank(std::size_t m, std::size_t n, double confidence);
// Of the shift from a to b: the median of all differences b - a (Hodges & Lehmann), and its
// interval.
double shift_estimate(std::span<const double> a, std::span<const double> b);
interval shift_interval(std::span<const double> a, std::span<const double> b, double confidence);

// P values adjusted for how many there are, in the order given; reject where <= level. Benjamini
// and Hochberg bound the share of false ones among those rejected, Holm the chance of any.
std::vector<double> benjamini_hochberg(std::span<const double> p);
std::vector<double> holm(std::span<const double> p);

}  // namespace kselect::harness::compare
