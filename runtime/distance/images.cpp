#include "runtime/distance/images.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kselect::runtime {

image image_of(const float* x, std::int64_t dimension, metric m) {
  image found;
  if (m == metric::pearson) {
    double sum = 0;
    for (std::int64_t c = 0; c < dimension; ++c) sum += x[c];
    // The mean of equal components is exactly their value: every partial sum is a multiple of the
    // unit in their last place and, up to 2^29 components, below 2^53 such units. So constant
    // vectors are recognised.
    found.mean = sum / static_cast<double>(dimension);
  }
  double square = 0;
#pragma omp simd reduction(+ : square)
  for (std::int64_t c = 0; c < dimension; ++c) {
    const double centred = x[c] - found.mean;
    square += centred * centred;
  }
  found.square = square;
  if (on_unit_sphere(m)) {
    found.scale = square == 0 ? 0 : 1 / std::sqrt(square);
    found.square = 1;
  }
  return found;
}

std::vector<image> images_of(const float* vectors, std::int64_t count, std::int64_t dimension,
                             metric m, int threads) {
  std::vector<image> images(static_cast<std::size_t>(count));
  constexpr std::int64_t vectors_a_task = 64;
  const std::int64_t tasks = (count + vectors_a_task - 1) / vectors_a_task;
  const int workers = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, threads));
#pragma omp parallel for num_threads(workers) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    images[static_cast<std::size_t>(i)] = image_of(vectors + i * dimension, dimension, m);
  }
  return images;
}

double squared_difference(const float* x, const image& of_x, const float* y, const image& of_y,
                          std::int64_t dimension) {
  double sum = 0;
  if (of_x.mean == 0 && of_x.scale == 1 && of_y.mean == 0 && of_y.scale == 1) {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < dimension; ++c) {
      const double difference = static_cast<double>(x[c]) - static_cast<double>(y[c]);
      sum += difference * difference;
    }
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < dimension; ++c) {
    const double difference = (x[c] - of_x.mean) * of_x.scale - (y[c] - of_y.mean) * of_y.scale;
    sum += difference * difference;
  }
  return sum;
}

double ranked_difference(const float* x, const image& of_x, const float* y, const image& of_y,
                         std::int64_t dimension) {
  if (of_x.scale == 0 || of_y.scale == 0) return 2;
  return squared_difference(x, of_x, y, of_y, dimension);
}

double ranked_distance(metric m, const float* x, const image& of_x, const float* y,
                       const image& of_y, std::int64_t dimension) {
  if (m != metric::inner_product) return ranked_difference(x, of_x, y, of_y, dimension);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < dimension; ++c) {
    sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
  }
  return 0 - 2 * sum;  // never -0
}

double distance_of(double ranked, metric m) {
  if (m == metric::euclidean) return std::sqrt(ranked);
  return on_unit_sphere(m) || m == metric::inner_product ? ranked / 2 : ranked;
}

}  // namespace kselect::runtime
