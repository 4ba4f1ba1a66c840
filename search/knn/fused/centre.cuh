#pragma once
// Kernels that find by what vectors are moved and scaled before they are rounded, from a sample.

#include <cmath>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/images.cuh"

namespace kselect::search::fused {

struct no_storage {};

// The mean of each component, and its variance, over a sample: the first positions. Any centre
// serves; the error bound is narrower the nearer it is to the mean. A component of integers gets an
// integer, so that bytes stay integers, which float16 holds exactly. Vectors of bytes are moved by
// 128 where no sampled value is negative, else not at all. A block has 32 components.
//
// bfloat16 is for values of a wide range. There the largest few would decide a mean. So it takes
// the median of each strip's first sample, and the median of their squared distances from it.
struct centre_kernel {
  static constexpr int max_threads = 1024;
  static constexpr int strips = max_threads / simt::warp_size;
  struct storage {
    double sums[strips][simt::warp_size], squares[strips][simt::warp_size];
    std::uint32_t fractions[simt::warp_size], negatives[simt::warp_size];
  };
  struct args {
    image_source from;
    numbering order;
    std::int64_t samples;
    global<float> centre;
    global<double> variance;
    simt::product factors = simt::product::float16;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int lane = simt.lane(), strip = simt.warp();
    const std::int64_t c = std::int64_t{simt.block()} * simt::warp_size + lane;
    const bool inside = c < a.from.dimension;
    if (strip == 0) shared.fractions[lane] = shared.negatives[lane] = 0;
    simt.sync_block();
    double sum = 0, square = 0;
    bool fraction = false, negative = false;
    for (std::int64_t s = strip; s < a.samples && inside; s += strips) {
      const image_row row = image_of(simt, a.from, a.order(simt, s));
      const double x = component(row, simt.load(row.raw, c));
      sum += x;
      square += x * x;
      fraction |= x != std::rint(x);
      negative |= x < 0;
    }
    if (fraction) simt.atomic_add(shared.fractions[lane], 1);
    if (negative) simt.atomic_add(shared.negatives[lane], 1);
    shared.sums[strip][lane] = sum;
    shared.squares[strip][lane] = square;
    simt.sync_block();
    if (strip != 0 || !inside) return;
    if (a.factors == simt::product::bfloat16) return store_medians(simt, shared, a, c);
    for (int s = 1; s < strips; ++s) {
      sum += shared.sums[s][lane];
      square += shared.squares[s][lane];
    }
    const auto count = static_cast<double>(a.samples);
    double mean = sum / count;
    if (shared.fractions[lane] == 0) mean = std::rint(mean);
    if (a.factors == simt::product::int8) mean = shared.negatives[lane] == 0 ? 128 : 0;
    if (!(std::fabs(mean) <= static_cast<double>(std::numeric_limits<float>::max()))) mean = 0;
    simt.store(a.centre, c, static_cast<float>(mean));
    const double about = square / count - 2 * mean * sum / count + mean * mean;
    simt.store(a.variance, c, about > 0 ? about : 0);
  }

 private:
  template <class Simt>
  KSELECT_HD static void store_medians(Simt& simt, storage& shared, const args& a, std::int64_t c) {
    double(&values)[strips][simt::warp_size] = shared.sums;
    const int lane = simt.lane();
    const int count = a.samples < strips ? static_cast<int>(a.samples) : strips;
    for (int s = 0; s < count; ++s) {
      const image_row row = image_of(simt, a.from, a.order(simt, s));
      values[s][lane] = component(row, simt.load(row.raw, c));
    }
    double centre = median(values, lane, count);
    if (!(std::fabs(centre) <= static_cast<double>(std::numeric_limits<float>::max()))) centre = 0;
    const auto kept = static_cast<float>(centre);
    for (int s = 0; s < count; ++s) {
      const double d = values[s][lane] - kept;
      values[s][lane] = d * d;
    }
    simt.store(a.centre, c, kept);
    simt.store(a.variance, c, median(values, lane, count));
  }
  // Orders the values of a lane. NaN may stand anywhere: any median is sound.
  KSELECT_HD static double median(double (&values)[strips][simt::warp_size], int lane, int count) {
    for (int i = 1; i < count; ++i) {
      const double own = values[i][lane];
      int at = i;
      for (; at > 0 && values[at - 1][lane] > own; --at) values[at][lane] = values[at - 1][lane];
      values[at][lane] = own;
    }
    return values[count / 2][lane];
  }
};

// The scale: a power of two that brings the root of the mean variance to between 1 and 2. So
// float16 has room for components 2^15 times as large, and underflows below 2^-14. Bytes keep
// theirs. One warp.
struct scale_kernel {
  using storage = no_storage;
  static constexpr int max_threads = simt::warp_size;
  struct args {
    global<const double> variance;
    std::int64_t dimension;
    global<corpus_facts> facts;
    simt::product factors = simt::product::float16;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    double sum = 0;
    for (std::int64_t c = simt.lane(); c < a.dimension; c += simt::warp_size) {
      sum += simt.load(a.variance, c);
    }
    sum = std::sqrt(warp_sum(simt, sum) / static_cast<double>(a.dimension));
    corpus_facts facts;
    const bool scaled = !simt::of_bytes(a.factors);
    if (scaled && sum > 0 && sum <= 1e300) facts.scale = std::ldexp(1.0, -std::ilogb(sum));
    if (simt.lane() == 0) simt.store(a.facts, 0, facts);
  }
};

}  // namespace kselect::search::fused
