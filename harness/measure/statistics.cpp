#include "harness/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kselect::harness {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The rank r, from 1, such that ranks r and n + 1 - r bound the median with at least 95 %: the
// largest r with 2 P(Binomial(n, 1/2) < r) <= 5 %, or 0 if there is none.
std::size_t cut_ranks(std::size_t n) {
  const auto trials = static_cast<double>(n);
  double tail = 0;
  std::size_t cut = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const auto hits = static_cast<double>(r);
    tail += std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) -
                     std::lgamma(trials - hits + 1) - trials * std::log(2.0));
    if (2 * tail > 0.05) break;
    cut = r + 1;
  }
  return cut;
}

}  // namespace

double summary::relative_interval() const { return median == 0 ? 0 : (ci_high - ci_low) / median; }

summary summarise(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  // Ranks c and n + 1 - c, from 1, excluding c - 1 samples at each end.
  const std::size_t cut = cut_ranks(sorted.size());
  const std::size_t low = cut == 0 ? 0 : cut - 1;
  return {.median = quantile(sorted, 0.5),
          .q1 = quantile(sorted, 0.25),
          .q3 = quantile(sorted, 0.75),
          .min = sorted.front(),
          .max = sorted.back(),
          .ci_low = sorted[low],
          .ci_high = sorted[sorted.size() - 1 - low]};
}

std::vector<std::size_t> far_out(std::span<const double> samples) {
  std::vector<std::size_t> found;
  if (samples.empty()) return found;
  const summary all = summarise(samples);
  const double fence = 3 * (all.q3 - all.q1);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] < all.q1 - fence || samples[i] > all.q3 + fence) found.push_back(i);
  }
  return found;
}

}  // namespace kselect::harness
