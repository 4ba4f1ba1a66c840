#include "harness/compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kselect::harness::compare {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr interval unbounded = {-infinity, infinity};

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// P(Binomial(n, 1/2) <= hits)
double binomial_tail(std::size_t n, std::size_t hits) {
  const auto trials = static_cast<double>(n);
  double tail = 0;
  for (std::size_t h = 0; h <= std::min(hits, n); ++h) {
    const auto x = static_cast<double>(h);
    tail += std::exp(std::lgamma(trials + 1) - std::lgamma(x + 1) - std::lgamma(trials - x + 1) -
                     trials * std::log(2.0));
  }
  return std::min(tail, 1.0);
}

interval between_ranks(const std::vector<double>& sorted, std::size_t rank) {
  if (rank == 0) return unbounded;
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all;
  all.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) all.push_back(y - x);
  }
  std::ranges::sort(all);
  return all;
}

// Twice the midrank of every value of the pooled sample. Doubled midranks are integers, so rank
// sums compare exactly.
std::vector<int> doubled_midranks(const std::vector<double>& pooled) {
  const std::vector<double> sorted = sorted_copy(pooled);
  std::vector<int> ranks;
  ranks.reserve(pooled.size());
  for (const double value : pooled) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    // The midrank is the mean of ranks first + 1 ... last: doubled, the sum of these two.
    ranks.push_back(static_cast<int>((first - sorted.begin()) + 1 + (last - sorted.begin())));
  }
  return ranks;
}

std::vector<double> walsh_averages(std::span<const double> values) {
  std::vector<double> all;
  all.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) all.push_back((values[i] + values[j]) / 2);
  }
  std::ranges::sort(all);
  return all;
}

std::vector<int> untied_ranks(std::size_t n) {
  std::vector<int> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 1);
  return ranks;
}

std::size_t total(const std::vector<int>& ranks) {
  return static_cast<std::size_t>(std::accumulate(ranks.begin(), ranks.end(), 0));
}

// Element s: the number of subsets of the ranks with sum s.
std::vector<double> sums_of_subsets(const std::vector<int>& ranks) {
  std::vector<double> ways(total(ranks) + 1, 0.0);
  ways[0] = 1;
  for (const int rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t sum = ways.size() - 1; sum >= step; --sum) ways[sum] += ways[sum - step];
  }
  return ways;
}

// The same for subsets of `size` members.
std::vector<double> sums_of_choices(const std::vector<int>& ranks, std::size_t size) {
  const std::size_t most = total(ranks);
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  for (const int rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t chosen = size; chosen >= 1; --chosen) {
      for (std::size_t sum = most; sum >= step; --sum) {
        ways[chosen][sum] += ways[chosen - 1][sum - step];
      }
    }
  }
  return ways[size];
}

tails tails_at(const std::vector<double>& ways, std::size_t seen) {
  double all = 0, at_least = 0, at_most = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (sum >= seen) at_least += ways[sum];
    if (sum <= seen) at_most += ways[sum];
  }
  return {at_least / all, at_most / all};
}

// The largest c with P(sum < least + c) <= (1 - confidence) / 2, at most half of `values`.
std::size_t exact_cut(const std::vector<double>& ways, std::size_t least, std::size_t values,
                      double confidence) {
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  double below = 0;
  std::size_t cut = 0;
  while (cut < values / 2) {
    below += ways[least + cut];
    if (below / all > (1 - confidence) / 2) break;
    ++cut;
  }
  return cut;
}

double normal_upper_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// The tails of a statistic that lies `distance` from its mean, with continuity correction.
tails normal_tails(double distance, double variance) {
  if (variance <= 0) return {};
  const double deviation = std::sqrt(variance);
  return {normal_upper_tail((distance - 0.5) / deviation),
          normal_upper_tail((-distance - 0.5) / deviation)};
}

std::size_t normal_cut(double values, double variance, double confidence) {
  double low = 0, high = 40;  // bisects for the z whose upper tail is (1 - confidence) / 2
  while (high - low > 1e-9) {
    const double z = (low + high) / 2;
    (normal_upper_tail(z) > (1 - confidence) / 2 ? low : high) = z;
  }
  return static_cast<std::size_t>(
      std::max(0.0, std::floor(values / 2 - high * std::sqrt(variance))));
}

// The variance of U, reduced by groups of t equal values.
double variance_of_u(const std::vector<double>& pooled, double pairs) {
  const auto count = static_cast<double>(pooled.size());
  double ties = 0;  // sum of t^3 - t
  const std::vector<double> sorted = sorted_copy(pooled);
  for (auto at = sorted.begin(); at != sorted.end();) {
    const auto end = std::upper_bound(at, sorted.end(), *at);
    const auto t = static_cast<double>(end - at);
    ties += t * t * t - t;
    at = end;
  }
  return pairs / 12 * (count + 1 - ties / (count * (count - 1)));
}

}  // namespace

double median(std::span<const double> values) { return median_of_sorted(sorted_copy(values)); }

std::size_t sign_rank(std::size_t n, double confidence) {
  std::size_t rank = 0;
  while (rank < n / 2 && 2 * binomial_tail(n, rank) <= 1 - confidence) ++rank;
  return rank;
}

interval median_interval(std::span<const double> values, double confidence) {
  return between_ranks(sorted_copy(values), sign_rank(values.size(), confidence));
}

signed_rank wilcoxon(std::span<const double> values, double shift) {
  std::vector<double> sizes;  // |value - shift|
  std::vector<bool> above;
  for (const double value : values) {
    if (value == shift) continue;
    sizes.push_back(std::abs(value - shift));
    above.push_back(value > shift);
  }
  const std::vector<int> ranks = doubled_midranks(sizes);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (above[i]) sum += static_cast<std::size_t>(ranks[i]);
  }
  signed_rank result;
  result.w = static_cast<double>(sum) / 2;
  if (ranks.empty()) return result;
  if (ranks.size() <= most_exact) {
    result.p = tails_at(sums_of_subsets(ranks), sum);
    return result;
  }
  double squares = 0;  // sum of squared midranks: four times the variance
  for (const int rank : ranks) squares += rank * (rank / 4.0);
  const double mean = static_cast<double>(ranks.size() * (ranks.size() + 1)) / 4;
  result.p = normal_tails(result.w - mean, squares / 4);
  return result;
}

std::size_t centre_rank(std::size_t n, double confidence) {
  const std::size_t averages = n * (n + 1) / 2;
  const auto size = static_cast<double>(n);
  if (n > most_exact) {
    const double variance = size * (size + 1) * (2 * size + 1) / 24;
    return normal_cut(static_cast<double>(averages), variance, confidence);
  }
  return exact_cut(sums_of_subsets(untied_ranks(n)), 0, averages, confidence);
}

double centre_estimate(std::span<const double> values) {
  return median_of_sorted(walsh_averages(values));
}

interval centre_interval(std::span<const double> values, double confidence) {
  return between_ranks(walsh_averages(values), centre_rank(values.size(), confidence));
}

rank_sum mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {};
  std::vector<double> pooled(b.begin(), b.end());
  pooled.insert(pooled.end(), a.begin(), a.end());
  const std::vector<int> ranks = doubled_midranks(pooled);
  const int of_b =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(b.size()), 0);
  const auto n = static_cast<double>(b.size());
  const double pairs = static_cast<double>(a.size()) * n;
  rank_sum result;
  result.u = of_b / 2.0 - n * (n + 1) / 2;
  result.p = pooled.size() <= most_exact
                 ? tails_at(sums_of_choices(ranks, b.size()), static_cast<std::size_t>(of_b))
                 : normal_tails(result.u - pairs / 2, variance_of_u(pooled, pairs));
  return result;
}

std::size_t shift_rank(std::size_t m, std::size_t n, double confidence) {
  if (m == 0 || n == 0) return 0;
  if (m + n > most_exact) {
    const auto pairs = static_cast<double>(m * n);
    return normal_cut(pairs, pairs * static_cast<double>(m + n + 1) / 12, confidence);
  }
  const std::size_t least = n * (n + 1) / 2;  // the rank sum at U = 0
  return exact_cut(sums_of_choices(untied_ranks(m + n), n), least, m * n, confidence);
}

double shift_estimate(std::span<const double> a, std::span<const double> b) {
  return median_of_sorted(differences(a, b));
}

interval shift_interval(std::span<const double> a, std::span<const double> b, double confidence) {
  return between_ranks(differences(a, b), shift_rank(a.size(), b.size(), confidence));
}

namespace {

// Positions in p, ordered from the smallest value to the largest.
std::vector<std::size_t> ascending(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  return order;
}

}  // namespace

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  const std::vector<std::size_t> order = ascending(p);
  const auto count = static_cast<double>(p.size());
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    least = std::min(least, p[order[i]] * count / static_cast<double>(i + 1));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

std::vector<double> holm(std::span<const double> p) {
  const std::vector<std::size_t> order = ascending(p);
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

}  // namespace kselect::harness::compare
