#include "tests/search/knn/tried.hpp"

#include <algorithm>
#include <cmath>

namespace kselect::search::tried {
namespace {

// In float64, which takes less time than long double. Its error is less than a part in 10^11 of the
// distance, or of 1 between unit images.
double rounded_distance(const image& x, const image& y, runtime::metric m) {
  if (has_unit_images(m) && !(x.directed && y.directed)) return 1;
  const double *a = x.rounded.data(), *b = y.rounded.data();
  double sums[4] = {};
  for (std::size_t c = 0, d = x.rounded.size(); c < d; ++c) {
    sums[c % 4] += (a[c] - b[c]) * (a[c] - b[c]);
  }
  const double sum = sums[0] + sums[1] + sums[2] + sums[3];
  return has_unit_images(m) ? sum / 2 : sum;
}

std::vector<measured> least(std::vector<measured> all, std::size_t count) {
  const auto wanted = static_cast<std::ptrdiff_t>(std::min(all.size(), count));
  std::ranges::partial_sort(all, all.begin() + wanted);
  all.resize(static_cast<std::size_t>(wanted));
  return all;
}

}  // namespace

bool has_unit_images(runtime::metric m) {
  return m == runtime::metric::cosine || m == runtime::metric::pearson;
}

long double distance(runtime::metric m, std::span<const float> x, std::span<const float> y) {
  using runtime::metric;
  if (m == metric::inner_product) return -product_of(x, y).value;
  const auto count = static_cast<long double>(x.size());
  long double mean_x = 0, mean_y = 0, xx = 0, yy = 0, square = 0;
  if (m == metric::pearson) {
    for (std::size_t c = 0; c < x.size(); ++c) mean_x += x[c], mean_y += y[c];
    mean_x /= count;
    mean_y /= count;
  }
  for (std::size_t c = 0; c < x.size(); ++c) {
    const long double a = x[c] - mean_x, b = y[c] - mean_y;
    xx += a * a, yy += b * b, square += (a - b) * (a - b);
  }
  if (m == metric::sqeuclidean) return square;
  if (m == metric::euclidean) return std::sqrt(square);
  if (xx == 0 || yy == 0) return 1;
  const long double length_x = std::sqrt(xx), length_y = std::sqrt(yy);
  long double apart = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const long double difference = (x[c] - mean_x) / length_x - (y[c] - mean_y) / length_y;
    apart += difference * difference;
  }
  return apart / 2;
}

image image_of(std::span<const float> x, runtime::metric m) {
  image made{.components = {x.begin(), x.end()}, .rounded = {x.begin(), x.end()}};
  if (!has_unit_images(m)) return made;
  long double mean = 0, square = 0;
  for (const float c : x) mean += c;
  mean = m == runtime::metric::pearson ? mean / static_cast<long double>(x.size()) : 0;
  for (long double& c : made.components) {
    c -= mean;
    square += c * c;
  }
  made.directed = square != 0;
  for (long double& c : made.components) c = made.directed ? c / std::sqrt(square) : 0;
  made.rounded.assign(made.components.begin(), made.components.end());
  return made;
}

long double distance(const image& x, const image& y, runtime::metric m) {
  long double sum = 0;
  for (std::size_t c = 0; c < x.components.size(); ++c) {
    sum += (x.components[c] - y.components[c]) * (x.components[c] - y.components[c]);
  }
  if (!has_unit_images(m)) return sum;
  return x.directed && y.directed ? sum / 2 : 1;
}

// float64 says which may be among them, and long double decides.
std::vector<measured> nearest(std::span<const image> base, const image& query, runtime::metric m,
                              std::size_t count, const among& which) {
  std::vector<std::pair<double, std::int64_t>> rounded;
  rounded.reserve(base.size());
  for (std::int64_t j = 0; j < std::ssize(base); ++j) {
    if (!which.has(j)) continue;
    rounded.emplace_back(rounded_distance(query, base[static_cast<std::size_t>(j)], m), j);
  }
  const std::size_t wanted = std::min(rounded.size(), count);
  if (wanted == 0) return {};
  const auto last = rounded.begin() + static_cast<std::ptrdiff_t>(wanted) - 1;
  std::ranges::nth_element(rounded, last);
  const double most = last->first + 1e-11 * (has_unit_images(m) ? 1 : last->first);
  std::vector<measured> all;
  for (const auto& [near, j] : rounded) {
    if (near > most) continue;
    all.emplace_back(distance(query, base[static_cast<std::size_t>(j)], m), j);
  }
  return least(std::move(all), wanted);
}

inner_product product_of(std::span<const float> x, std::span<const float> y) {
  inner_product sum;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const long double term = static_cast<long double>(x[c]) * y[c];
    sum.value += term;
    sum.terms += std::fabs(term);
  }
  return sum;
}

std::vector<measured> largest(std::span<const float> base, std::span<const float> query,
                              std::size_t count, const among& which) {
  const std::size_t dimension = query.size();
  const auto n = static_cast<std::int64_t>(base.size() / dimension);
  std::vector<measured> all;
  all.reserve(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    if (!which.has(j)) continue;
    const auto row = base.subspan(static_cast<std::size_t>(j) * dimension, dimension);
    all.emplace_back(-product_of(query, row).value, j);
  }
  return least(std::move(all), count);
}

}  // namespace kselect::search::tried
