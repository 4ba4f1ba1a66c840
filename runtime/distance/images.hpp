#pragma once
// Images of vectors, and the float64 distance between two vectors.
//
// Every metric is a squared Euclidean distance between images (x - mean) * scale: of the vectors
// themselves, or, for cosine and pearson, of unit vectors, where 1 - x.y = |x - y|^2 / 2. The sum
// of squared differences has no cancellation, is never negative, and is 0 for equal vectors. It
// depends on the two vectors alone, whichever search, tile, thread or rank computes it.
//
// The inner product is the exception: no image has it as a distance from all others. It is a sum of
// products, which are exact in float64, so only their sum is rounded.

#include <cstdint>
#include <vector>

#include "runtime/distance/metric.hpp"

namespace kselect::runtime {

// What is known of a vector. Its image is (x - mean) * scale.
struct image {
  double mean = 0;
  double scale = 1;   // 0: a vector without a direction, in cosine and pearson
  double square = 0;  // squared norm of the image; 1 by definition for cosine and pearson
};

constexpr bool on_unit_sphere(metric m) { return m == metric::cosine || m == metric::pearson; }

// Of one vector of `dimension` components, and of `count` dense ones by up to `threads` threads.
image image_of(const float* x, std::int64_t dimension, metric m);
std::vector<image> images_of(const float* vectors, std::int64_t count, std::int64_t dimension,
                             metric m, int threads);

// The sum of squared differences of two images, in float64: a relative error of at most
// (dimension + 3) 2^-53.
double squared_difference(const float* x, const image& of_x, const float* y, const image& of_y,
                          std::int64_t dimension);

// squared_difference(), or exactly 2 if a vector has no
// direction, since its distance is 1 by convention.
double ranked_difference(const float* x, const image& of_x, const float* y, const image& of_y,
                         std::int64_t dimension);

// By this a search orders neighbours in metric m: ranked_difference(), or -2 x.y for the inner
// product. Twice, as for unit vectors: then it is |x|^2 + |y|^2 - 2 x.y without the squares.
double ranked_distance(metric m, const float* x, const image& of_x, const float* y,
                       const image& of_y, std::int64_t dimension);

// The distance of a ranked_distance: the same, its root, or half of it.
double distance_of(double ranked, metric m);

}  // namespace kselect::runtime
