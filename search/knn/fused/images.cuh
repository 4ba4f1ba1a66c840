#pragma once
// Device code: a vector's image and the squared distance of two images, in float64.
//
// A warp computes them. The order of summation is fixed by the dimension, so a pair of vectors has
// the same bits in every stage and on every executor.

#include <bit>
#include <cmath>

#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// a * b, rounded. A compiler may fuse a plain product with an addition that follows, and then the
// executors would differ in the last bit. Sums of squares are fused on purpose, by std::fma.
KSELECT_HD inline double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  const volatile double product = a * b;
  return product;
#endif
}

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

KSELECT_HD inline double component(const image_row& x, float raw) {
  return rounded_product(raw - x.mean, x.scale);
}
KSELECT_HD inline double difference(const image_row& x, float of_x, const image_row& y,
                                    float of_y) {
  return component(x, of_x) - component(y, of_y);
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
      KSELECT_UNROLL for (int i = 0; i < 4; ++i) {
        const double d = difference(x, a[i], y, b[i]);
        sum = std::fma(d, d, sum);
      }
    }
    return sum;
  }
  for (std::int64_t c = simt.lane(); c < dimension; c += simt::warp_size) {
    const double d = difference(x, simt.load(x.raw, c), y, simt.load(y.raw, c));
    sum = std::fma(d, d, sum);
  }
  return sum;
}

// The same of the sum of products. They are exact in float64.
template <class Simt>
KSELECT_HD double share_of_product(Simt& simt, const image_row& x, const image_row& y,
                                   std::int64_t dimension) {
  double sum = 0;
  if (dimension % 4 == 0) {
    const auto of_x = simt::as_vec<4>(x.raw), of_y = simt::as_vec<4>(y.raw);
    for (std::int64_t c = simt.lane(); c < dimension / 4; c += simt::warp_size) {
      const auto a = simt.load(of_x, c), b = simt.load(of_y, c);
      KSELECT_UNROLL for (int i = 0; i < 4; ++i) {
        sum = std::fma(static_cast<double>(a[i]), static_cast<double>(b[i]), sum);
      }
    }
    return sum;
  }
  for (std::int64_t c = simt.lane(); c < dimension; c += simt::warp_size) {
    const double a = simt.load(x.raw, c), b = simt.load(y.raw, c);
    sum = std::fma(a, b, sum);
  }
  return sum;
}

// A NaN that follows all numbers.
KSELECT_HD inline double last_of_all() { return std::bit_cast<double>(0x7ff8000000000000ULL); }

// The distance of an inner product. 0 never has a sign.
KSELECT_HD inline double ranked_product(double product) {
  return product != product ? last_of_all() : 0 - product;
}

// The distance that ranks: squared for euclidean metrics, half of the squared one of unit vectors;
// 1 if one of them has no direction. A NaN is positive, so that it follows infinity.
KSELECT_HD inline double ranked(double squared, bool unit, const image_row& x, const image_row& y) {
  if (squared != squared) return last_of_all();
  if (!unit) return squared;
  return x.scale == 0 || y.scale == 0 ? 1 : squared / 2;
}

}  // namespace kselect::search::fused
