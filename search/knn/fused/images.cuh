#pragma once
// Device code: a vector's image and the squared distance of two images, in float64.
//
// A warp computes them. The order of summation is fixed by the dimension, so a pair of vectors has
// the same bits in every stage and on every executor.

#include <bit>
#include <cmath>

#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

struct image_row {
  global<const float> raw;
  double mean = 0;
  double scale = 1;
};

template <class Simt>
KSELECT_HD image_row image_of(Simt& simt, const image_source& from, std::int64_t i) {
  image_row row{simt.slice(from.raw, i * from.dimension, from.dimension)};
  if (!from.unit()) return row;
  row.mean = simt.load(from.means, i);
  row.scale = simt.load(from.scales, i);
  return row;
}

// The sum of a value over the lanes of a warp, in a fixed order, for every lane.
template <class Simt>
KSELECT_HD double warp_sum(Simt& simt, double value) {
  for (int step = simt::warp_size / 2; step > 0; step /= 2) {
    value += simt.shfl_xor(simt::full_mask, value, step);
  }
  return value;
}

KSELECT_HD inline double squared_difference(const image_row& x, float of_x, const image_row& y,
                                            float of_y) {
  const double d = (of_x - x.mean) * x.scale - (of_y - y.mean) * y.scale;
  return d * d;
}

// The calling lane's share of the sum of squared differences.
template <class Simt>
KSELECT_HD double share_of_difference(Simt& simt, const image_row& x, const image_row& y,
                                      std::int64_t dimension) {
  double sum = 0;
  if (dimension % 4 == 0) {
    const auto of_x = simt::as_vec<4>(x.raw), of_y = simt::as_vec<4>(y.raw);
    for (std::int64_t c = simt.lane(); c < dimension / 4; c += simt::warp_size) {
      const auto a = simt.load(of_x, c), b = simt.load(of_y, c);
      KSELECT_UNROLL for (int i = 0; i < 4; ++i) sum += squared_difference(x, a[i], y, b[i]);
    }
    return sum;
  }
  for (std::int64_t c = simt.lane(); c < dimension; c += simt::warp_size) {
    sum += squared_difference(x, simt.load(x.raw, c), y, simt.load(y.raw, c));
  }
  return sum;
}

// The distance that ranks: squared for euclidean metrics, half of the squared one of unit vectors;
// 1 if one of them has no direction. A NaN is positive, so that it follows infinity.
KSELECT_HD inline double ranked(double squared, bool unit, const image_row& x, const image_row& y) {
  if (squared != squared) return std::bit_cast<double>(0x7ff8000000000000ULL);
  if (!unit) return squared;
  return x.scale == 0 || y.scale == 0 ? 1 : squared / 2;
}

}  // namespace kselect::search::fused
