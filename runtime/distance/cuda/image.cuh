#pragma once
// Device code: a vector's image in float64, and the distance that a squared difference of images
// gives.

#include "runtime/distance/cuda/device_vectors.hpp"

namespace kselect::runtime {

// The image of one vector, computed component by component and not rounded to float32.
struct image_row {
  const float* raw;
  double mean;
  double scale;
  __device__ double operator[](std::int64_t c) const { return (raw[c] - mean) * scale; }
};

__device__ inline image_row image_of(const vectors_on_device& v, std::int64_t i) {
  return {v.raw + i * v.dimension, v.means == nullptr ? 0 : v.means[i],
          v.scales == nullptr ? 1 : v.scales[i]};
}

// The ranked distance from the sum of squared differences of two images.
__device__ inline double ranked_distance(double squared_difference, bool unit, double scale_x,
                                         double scale_y) {
  if (!unit) return squared_difference;
  return scale_x == 0 || scale_y == 0 ? 1 : squared_difference / 2;
}

}  // namespace kselect::runtime
