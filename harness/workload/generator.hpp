#pragma once
// Generated rows: element (row, column) is a pure function of the seed, equal on CPU and GPU.
//
// Philox4x32-10 (Salmon et al. 2011, Random123), keyed by the seed, counts (block of columns, row).
// It has no state, so any thread can compute any element. Host and device agree to the bit, because
// every floating-point step below is an IEEE operation that rounds once (+, *, /, sqrt, explicit
// fma). Do not write a*b+c here: a compiler may contract it on one side only.

#include <cmath>
#include <cstdint>
#include <type_traits>

// Philox needs no intrinsics, and nvcc 12.4 cannot parse those of GCC 13.
#define R123_USE_SSE 0
#define R123_USE_X86INTRIN_H 0
#include <Random123/philox.h>

#include "harness/workload/distribution.hpp"
#include "kselect/hd.hpp"
#include "kselect/order.hpp"

namespace kselect::harness {

// -log(x) for x in (0, 1/2], with a relative error of about 1e-15. Replaces the library's log,
// which differs between host and device.
KSELECT_HD inline double negative_log(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  double exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    exponent += 1;
  }
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double series = 1.0 / 19;
  for (int odd = 17; odd >= 1; odd -= 2) series = fma(series, s2, 1.0 / odd);
  return -fma(exponent, 0.6931471805599453, 2 * s * series);
}

// The standard normal quantile of p in (0, 1) to seven digits: Wichura 1988, algorithm AS 241
// (PPND7).
KSELECT_HD inline double normal_quantile(double p) {
  const double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    const double r = fma(-q, q, 0.180625);
    const double top =
        fma(fma(fma(59.109374720, r, 159.29113202), r, 50.434271938), r, 3.3871327179);
    const double bottom = fma(fma(fma(67.187563600, r, 78.757757664), r, 17.895169469), r, 1.0);
    return q * top / bottom;
  }
  double r = sqrt(negative_log(q < 0 ? p : 1 - p));
  double top = 0;
  double bottom = 1;
  if (r <= 5) {
    r -= 1.6;
    top = fma(fma(fma(0.17023821103, r, 1.3067284816), r, 2.7568153900), r, 1.4234372777);
    bottom = fma(fma(0.12021132975, r, 0.73700164250), r, 1.0);
  } else {
    r -= 5;
    top = fma(fma(fma(0.017337203997, r, 0.42868294337), r, 3.0812263860), r, 6.6579051150);
    bottom = fma(fma(0.012258202635, r, 0.24197894225), r, 1.0);
  }
  return q < 0 ? -(top / bottom) : top / bottom;
}

// The floating-point type that elements of type T are made from: its own, or a wider one.
template <class T>
using real_of = std::conditional_t<
    sizeof(T) < 4, float,
    std::conditional_t<dtype_traits<T>::kind == number_kind::floating, T, double>>;

// Generates the elements of rows of length n. Trivially copyable, so kernels take it by value. An
// element of 16 bits or an 8-bit float is the float32 element, rounded. Only elements made from
// bits (NaN, shared leading bits) are made in their own width. Types without infinity or without
// NaN have their greatest number instead.
//
// An integer is a number of [0, 1) on the type's whole range: 0 is its least, 1/2 its middle. A
// normal deviate is a sixteenth of the range and has its mean in the middle.
template <class T>
class generator {
 public:
  using real = real_of<T>;
  using bits_type = order_key_t<real>;
  // Elements made from one Philox block: 128 random bits.
  static constexpr int lanes = 16 / static_cast<int>(sizeof(real));

  // Only kth_ties uses k.
  KSELECT_HD generator(distribution d, std::uint64_t seed, std::int64_t n, std::int64_t k)
      : kind_(d.kind), parameter_(d.parameter), seed_(seed), n_(n), k_(k) {}

  // Writes the elements of columns [lanes * block, lanes * (block + 1)) of a row.
  KSELECT_HD void block(std::int64_t row, std::int64_t block, T (&out)[lanes]) const {
    bits_type random[lanes];
    draw(row, block, random);
    for (int lane = 0; lane < lanes; ++lane) {
      out[lane] = value(row, block * lanes + lane, random[lane]);
    }
  }

 private:
  using pattern = order_key_t<T>;
  static constexpr bool whole = dtype_traits<T>::kind != number_kind::floating;

  KSELECT_HD void draw(std::int64_t row, std::int64_t block, bits_type (&random)[lanes]) const {
    const auto low = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::int64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const r123::Philox4x32::ctr_type counter = {{low(block), high(block), low(row), high(row)}};
    const r123::Philox4x32::key_type key = {
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
    const auto words = r123::Philox4x32{}(counter, key);
    for (int lane = 0; lane < lanes; ++lane) {
      if constexpr (sizeof(real) == 4) {
        random[lane] = words[static_cast<unsigned>(lane)];
      } else {
        random[lane] = static_cast<bits_type>(words[static_cast<unsigned>(2 * lane + 1)]) << 32 |
                       words[static_cast<unsigned>(2 * lane)];
      }
    }
  }

  // Uniform in [0, 1), with as many equally spaced values as the mantissa holds.
  KSELECT_HD static real unit(bits_type random) {
    if constexpr (sizeof(real) == 4) {
      return static_cast<real>(random >> 8) * static_cast<real>(0x1p-24);
    } else {
      return static_cast<real>(random >> 11) * static_cast<real>(0x1p-53);
    }
  }
  KSELECT_HD static double unit_double(bits_type random) {
    return static_cast<double>(unit(random));
  }

  KSELECT_HD T value(std::int64_t row, std::int64_t column, bits_type random) const {
    switch (kind_) {
      case distribution_kind::same_leading_bits:
        return leading(random);
      case distribution_kind::inf_fraction:
        return chosen(row, column) ? greatest() : rounded(unit(random));
      case distribution_kind::nan_fraction:
        return chosen(row, column) ? nan(random) : rounded(unit(random));
      default:
        return rounded(number(row, column, random));
    }
  }

  KSELECT_HD static T rounded(real x) {
    if constexpr (whole) {
      constexpr double numbers = sizeof(T) == 4 ? 0x1p32 : 0x1p8;
      const double place = floor(static_cast<double>(x) * numbers);
      const double inside = place < 0 ? 0 : place < numbers ? place : numbers - 1;
      return from_order_key<T>(static_cast<pattern>(static_cast<std::uint64_t>(inside)));
    } else if constexpr (sizeof(T) < 4) {
      return from_float<T>(x);
    } else {
      return x;
    }
  }
  KSELECT_HD static constexpr T greatest() {
    if constexpr (whole) {
      return from_order_key<T>(static_cast<pattern>(~pattern{0}));
    } else {
      return std::bit_cast<T>(infinity_bits<T>);
    }
  }
  // A normal deviate as rounded() takes it.
  KSELECT_HD static real centred(real x) {
    if constexpr (whole) {
      return static_cast<real>(0.5) +
             x * static_cast<real>(0.0625);  // exact product: no contraction
    } else {
      return x;
    }
  }

  KSELECT_HD real number(std::int64_t row, std::int64_t column, bits_type random) const {
    switch (kind_) {
      case distribution_kind::normal:
        return centred(normal(random));
      case distribution_kind::decaying:
        return centred(static_cast<real>(static_cast<double>(normal(random)) * deviation(column)));
      case distribution_kind::ascending:
        return position(column, random);
      case distribution_kind::descending:
        return position(n_ - 1 - column, random);
      case distribution_kind::organ_pipe:
        return position(column < n_ - 1 - column ? column : n_ - 1 - column, random);
      case distribution_kind::all_equal:
        return of_row(row);
      case distribution_kind::few_distinct:
        return static_cast<real>(floor(unit_double(random) * parameter_) / parameter_);
      case distribution_kind::kth_ties:
        return tied(row, column, random);
      default:
        return unit(random);
    }
  }

  KSELECT_HD static real normal(bits_type random) {
    // The middle of one of 2^32 (float64: 2^52) equal intervals: never 0 or 1.
    const double p = sizeof(real) == 4 ? (static_cast<double>(random) + 0.5) * 0x1p-32
                                       : (static_cast<double>(random >> 12) + 0.5) * 0x1p-52;
    return static_cast<real>(normal_quantile(p));
  }

  // The standard deviation of a column: variances fall by the ratio (rho - 1) / (rho + 1) from
  // column to column, rho = `parameter`. The square of the distance between two rows then has mean
  // 2 sum r^j and variance 8 sum r^2j. So the distances have the intrinsic dimension
  //
  //     mu^2 / (2 sigma^2)  ~  (sum r^j)^2 / sum r^2j  =  (1 + r) / (1 - r)  =  rho
  //
  // if there are enough columns (Chavez et al. 2001).
  KSELECT_HD double deviation(std::int64_t column) const {
    double power = sqrt((parameter_ - 1) / (parameter_ + 1));
    double product = 1;
    for (std::int64_t left = column; left != 0; left >>= 1) {
      if ((left & 1) != 0) product *= power;
      power *= power;
    }
    return product;
  }

  // Rises with `place`. Random within each step, so that rows and seeds differ.
  KSELECT_HD real position(std::int64_t place, bits_type random) const {
    return static_cast<real>((static_cast<double>(place) + unit_double(random)) /
                             static_cast<double>(n_));
  }

  // One value per row, from a Philox block that no column uses.
  KSELECT_HD real of_row(std::int64_t row) const {
    bits_type random[lanes];
    draw(row, -1, random);
    return unit(random[0]);
  }

  // Decides by a second random number per element, from Philox blocks that no column uses.
  KSELECT_HD bool chosen(std::int64_t row, std::int64_t column) const {
    bits_type random[lanes];
    draw(row, -2 - column, random);
    return unit_double(random[0]) < parameter_;
  }

  // The first `parameter` bits are those of 1.0, or of 3/4 of the range, the others are random.
  KSELECT_HD T leading(bits_type random) const {
    const int shared = static_cast<int>(parameter_);
    const auto mask = static_cast<pattern>(shared >= 8 * static_cast<int>(sizeof(T))
                                               ? 0
                                               : static_cast<pattern>(~pattern{0}) >> shared);
    const auto one = std::bit_cast<pattern>(rounded(static_cast<real>(whole ? 0.75 : 1)));
    const auto bits = static_cast<pattern>((one & ~mask) | (random & mask));
    if constexpr (whole) {
      return std::bit_cast<T>(bits);
    } else {
      // If few bits are shared, the exponent may come out as infinity's. Clear its random bits
      // then.
      constexpr pattern exponent = dtype_traits<T>::exponent;
      return std::bit_cast<T>(
          static_cast<pattern>((bits & exponent) == exponent ? bits ^ (exponent & mask) : bits));
    }
  }

  // A quiet NaN of either sign with a random payload, if the type has payloads.
  KSELECT_HD static T nan(bits_type random) {
    if constexpr (!dtype_traits<T>::has_nan) {
      return greatest();
    } else {
      constexpr pattern infinity = infinity_bits<T>;
      constexpr pattern quiet =
          dtype_traits<T>::has_infinity ? infinity | infinity >> 1 : infinity + 1;
      return std::bit_cast<T>(static_cast<pattern>(random | (quiet & ~sign_bit<T>)));
    }
  }

  // Elements by random rank: the first k/2 are below 1/4, the next are exactly 1/2 up to
  // `parameter` past the k-th, the others are above. So the k-th key is tied and only some of its
  // ties are chosen.
  KSELECT_HD real tied(std::int64_t row, std::int64_t column, bits_type random) const {
    const std::int64_t rank = permuted(row, column);
    const std::int64_t better = k_ / 2;
    if (rank < better) return unit(random) * static_cast<real>(0.25);
    if (rank < k_ + static_cast<std::int64_t>(parameter_)) return static_cast<real>(0.5);
    return static_cast<real>(0.75) + unit(random) * static_cast<real>(0.125);
  }

  // A bijection of [0, n), one per row: a four-round Feistel network on the smallest even number of
  // bits that holds n - 1. It repeats until the result is below n, at most four times on average. A
  // place beyond n, which a block may have, could repeat for ever; it stays as it is.
  KSELECT_HD std::int64_t permuted(std::int64_t row, std::int64_t column) const {
    if (column >= n_) return column;
    int half = 1;
    while ((n_ - 1) >> (2 * half) != 0) ++half;
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    auto x = static_cast<std::uint64_t>(column);
    do {
      std::uint64_t left = x >> half;
      std::uint64_t right = x & mask;
      for (std::int64_t round = 0; round < 4; ++round) {
        const std::uint64_t mixed = left ^ (scrambled(right, row, round) & mask);
        left = right;
        right = mixed;
      }
      x = left << half | right;
    } while (x >= static_cast<std::uint64_t>(n_));
    return static_cast<std::int64_t>(x);
  }

  // splitmix64's finaliser (Steele et al. 2014) of x, the seed, the row and the round.
  KSELECT_HD std::uint64_t scrambled(std::uint64_t x, std::int64_t row, std::int64_t round) const {
    x ^= seed_ + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(4 * row + round + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  distribution_kind kind_;
  double parameter_;
  std::uint64_t seed_;
  std::int64_t n_;
  std::int64_t k_;
};

}  // namespace kselect::harness
