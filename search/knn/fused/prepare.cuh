#pragma once
// Kernels that prepare vectors for products. In order: summaries (unit images only), centre, scale,
// rounding, facts, starts. Queries take rounding alone, with the corpus' centre and scale.

#include <bit>
#include <cmath>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/centre.cuh"

namespace kselect::search::fused {

// One warp a vector: the mean of its components (pearson) and the reciprocal of its norm.
struct summary_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    global<const float> raw;
    global<double> means, scales;
    std::int64_t count, dimension;
    bool centred;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.warps() + simt.warp();
    if (i >= a.count) return;  // the whole warp
    const auto x = simt.slice(a.raw, i * a.dimension, a.dimension);
    double mean = 0;
    if (a.centred) {
      for (std::int64_t c = simt.lane(); c < a.dimension; c += simt::warp_size) {
        mean += simt.load(x, c);
      }
      mean = warp_sum(simt, mean) / static_cast<double>(a.dimension);
    }
    double square = 0;
    for (std::int64_t c = simt.lane(); c < a.dimension; c += simt::warp_size) {
      const double d = simt.load(x, c) - mean;
      square = std::fma(d, d, square);
    }
    square = warp_sum(simt, square);
    if (simt.lane() != 0) return;
    simt.store(a.means, i, mean);
    simt.store(a.scales, i, square == 0 ? 0 : 1 / std::sqrt(square));
  }
};

// Rounds some rows of a tile a block. A corpus also gets sums and maxima of its errors and norms.
template <simt::product factors>
struct rounding_kernel_of {
  static constexpr int max_threads = 256;
  static constexpr int warps = max_threads / simt::warp_size;
  // Of a corpus, and of queries: these are few, and a search waits for them.
  static constexpr int most_rows = tile_rows, few_rows = 2 * warps;
  struct storage {
    double totals[warps][4];
  };
  struct args {
    image_source from;
    numbering order;
    std::int64_t count;  // of rows
    global<const float> centre;
    global<const corpus_facts> facts;
    rounded to;
    global<double> totals;  // [blocks][4]: summed errors and norms, largest of both; or no data
    global<std::uint32_t> cleared;  // set to 0; or no data
    int rows = most_rows;           // of a block: a divisor of a tile's
  };
  struct sums {
    double square = 0, residue = 0, origin = 0;  // of the image: rounded, the rest, not moved
    bool exact = simt::of_bytes(factors);        // all components are those of bytes
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.block() == 0 && simt.thread() < a.cleared.size) {
      simt.store(a.cleared, simt.thread(), 0);
    }
    double totals[4] = {};
    for (int row = simt.warp(); row < a.rows; row += warps) {
      const std::int64_t position = std::int64_t{simt.block()} * a.rows + row;
      const sums mine = round_row(simt, a, position);
      const double square = warp_sum(simt, mine.square), residue = warp_sum(simt, mine.residue);
      const double origin = warp_sum(simt, mine.origin), norm = std::sqrt(square);
      // Bytes are exact.
      const bool exact = simt.ballot(simt::full_mask, !mine.exact) == 0;
      const double error = exact ? 0 : error_of(residue, norm, std::sqrt(origin));
      if (simt.lane() == 0) {
        simt.store(a.to.squares, position, square);
        simt.store(a.to.errors, position, error);
      }
      if (position >= a.count) continue;
      if (error <= std::numeric_limits<double>::max()) totals[0] += counted(error);
      totals[1] += counted(norm);
      if (error <= std::numeric_limits<double>::max()) totals[2] = std::fmax(totals[2], error);
      totals[3] = std::fmax(totals[3], norm);
    }
    if (a.totals.data == nullptr) return;
    if (simt.lane() == 0) {
      for (int i = 0; i < 4; ++i) shared.totals[simt.warp()][i] = totals[i];
    }
    simt.sync_block();
    if (simt.thread() >= 4) return;
    const int i = simt.thread();
    double total = 0;
    for (int w = 0; w < warps; ++w) {
      total = i < 2 ? total + shared.totals[w][i] : std::fmax(total, shared.totals[w][i]);
    }
    simt.store(a.totals, std::int64_t{4} * simt.block() + i, total);
  }

 private:
  // The second term covers the rounding of images and differences in float64.
  KSELECT_HD static double error_of(double residue, double norm, double origin) {
    const double error = std::sqrt(residue) * (1 + 1e-9) + 0x1p-48 * (norm + origin);
    return error <= std::numeric_limits<double>::max() ? error
                                                       : std::numeric_limits<double>::infinity();
  }
  // What is summed for a mean. The mean of bfloat16 is harmonic: large vectors, whose errors are
  // large, too, do not decide it. Zeros do not count.
  KSELECT_HD static double counted(double length) {
    if constexpr (factors != simt::product::bfloat16) return length;
    return length > 0 ? 1 / length : 0;
  }

  template <class Simt>
  KSELECT_HD static sums round_row(Simt& simt, const args& a, std::int64_t position) {
    const auto row = static_cast<int>(position % tile_rows);
    const bool inside = position < a.count;
    const std::int64_t dimension = a.from.dimension;
    constexpr int width = width_of_slab(factors);
    const std::int64_t slabs = (dimension + width - 1) / width;
    const image_row x = inside ? image_of(simt, a.from, a.order(simt, position)) : image_row{};
    const double scale = inside ? simt.load(a.facts, 0).scale : 1;
    const global<std::uint32_t> words{reinterpret_cast<std::uint32_t*>(a.to.slabs.data),
                                      a.to.slabs.size * 4};
    sums all;
    for (std::int64_t c = 4 * simt.lane(); c < slabs * width; c += 4 * simt::warp_size) {
      std::uint32_t bits[4] = {};
      for (int i = 0; i < 4; ++i) {
        if (inside && c + i < dimension) {
          bits[i] = round_component(simt, a, x, c + i, scale, all);
        }
      }
      const std::int64_t slab = (position / tile_rows * slabs + c / width) * slab_vectors;
      const int in_slab = static_cast<int>(c % width);
      if constexpr (simt::of_bytes(factors)) {
        simt.store(words, 4 * (slab + place_in_slab(row, in_slab / 16)) + in_slab / 4 % 4,
                   bits[0] | bits[1] << 8 | bits[2] << 16 | bits[3] << 24);
      } else {
        simt.store(simt::as_vec<2>(words),
                   2 * (slab + place_in_slab(row, in_slab / 8)) + in_slab / 4 % 2,
                   {{bits[0] | bits[1] << 16, bits[2] | bits[3] << 16}});
      }
    }
    return all;
  }

  template <class Simt>
  KSELECT_HD static std::uint32_t round_component(Simt& simt, const args& a, const image_row& x,
                                                  std::int64_t c, double scale, sums& all) {
    const double image = component(x, simt.load(x.raw, c));
    const double moved = (image - simt.load(a.centre, c)) * scale;
    const rounded_number kept = nearest(moved == moved ? moved : 0);
    const double value = kept.value, rest = moved - value;
    if constexpr (simt::of_bytes(factors)) all.exact &= value + simt.load(a.centre, c) == image;
    all.square += value * value;
    all.residue += rest * rest;
    all.origin += image * scale * (image * scale);
    return kept.bits;
  }

  struct rounded_number {
    double value;
    std::uint32_t bits;
  };
  // The largest and the smallest number. Products of bfloat16 neither overflow nor underflow: it
  // stays between 2^-60 and 2^50 in magnitude, or is 0.
  static constexpr double most() {
    return simt::of_bytes(factors) ? 127 : factors == simt::product::bfloat16 ? 0x1p50 : 65504;
  }
  static constexpr double least() { return simt::of_bytes(factors) ? -128 : -most(); }
  KSELECT_HD static rounded_number nearest(double x) {
    const double kept = x > most() ? most() : x < least() ? least() : x;
    if constexpr (factors == simt::product::bfloat16) {
      if (std::fabs(kept) < 0x1p-60) return {0, 0};
      const auto half = from_float<bfloat16>(static_cast<float>(kept));
      return {to_float(half), half.bits};
    } else if constexpr (simt::of_bytes(factors)) {
      const auto whole = static_cast<int>(std::rint(kept));
      return {static_cast<double>(whole), static_cast<std::uint32_t>(whole) & 0xffU};
    } else {
      const auto half = from_float<float16>(static_cast<float>(kept));
      return {to_float(half), half.bits};
    }
  }
};

using rounding_kernel = rounding_kernel_of<simt::product::float16>;

// Calls `with` with the kernel that rounds to these factors.
template <class With>
void with_rounding(simt::product factors, const With& with) {
  if (simt::of_bytes(factors)) return with(rounding_kernel_of<simt::product::int8>{});
  if (factors == simt::product::bfloat16) {
    return with(rounding_kernel_of<simt::product::bfloat16>{});
  }
  with(rounding_kernel{});
}

// From the tiles' totals to the facts. One block.
struct facts_kernel {
  static constexpr int max_threads = 1024;
  static constexpr int warps = max_threads / simt::warp_size;
  struct storage {
    double totals[warps][4];
  };
  struct args {
    global<const double> totals;
    std::int64_t tiles, count;
    double sum_error;
    global<corpus_facts> facts;
    bool harmonic = false;  // means
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    double mine[4] = {};
    for (std::int64_t t = simt.thread(); t < a.tiles; t += max_threads) {
      for (int i = 0; i < 4; ++i) join(mine, i, simt.load(a.totals, 4 * t + i));
    }
    for (int step = simt::warp_size / 2; step > 0; step /= 2) {
      for (int i = 0; i < 4; ++i) join(mine, i, simt.shfl_xor(simt::full_mask, mine[i], step));
    }
    if (simt.lane() == 0) {
      for (int i = 0; i < 4; ++i) shared.totals[simt.warp()][i] = mine[i];
    }
    simt.sync_block();
    if (simt.thread() != 0) return;
    for (int w = 1; w < warps; ++w) {
      for (int i = 0; i < 4; ++i) join(mine, i, shared.totals[w][i]);
    }
    corpus_facts facts = simt.load(a.facts, 0);
    facts.largest_error = mine[2];
    facts.usual_error = std::fmin(mine[2], 2 * mean(a, mine[0], mine[2]));
    facts.largest_norm = mine[3];
    facts.usual_norm = 2 * mean(a, mine[1], mine[3]);
    facts.reach = 2 * facts.usual_norm;
    facts.sum_error = a.sum_error;
    simt.store(a.facts, 0, facts);
  }

 private:
  KSELECT_HD static double mean(const args& a, double sum, double largest) {
    const auto count = static_cast<double>(a.count);
    if (!a.harmonic) return sum / count;
    return sum > 0 ? std::fmin(count / sum, largest) : largest;
  }
  KSELECT_HD static void join(double (&mine)[4], int i, double more) {
    mine[i] = i < 2 ? mine[i] + more : std::fmax(mine[i], more);
  }
};

// The smallest float that is not below x.
KSELECT_HD inline float float_above(double x) {
  const auto near = static_cast<float>(x);
  if (!(near < x)) return near;
  const auto bits = std::bit_cast<std::uint32_t>(near);
  if (near == 0) return std::bit_cast<float>(1U);
  return std::bit_cast<float>(near > 0 ? bits + 1 : bits - 1);
}

// By how much scores of a vector with an unusual rounding error are raised.
KSELECT_HD inline double raised_by(const corpus_facts& facts, double error) {
  const double beyond = std::fmax(0.0, error - facts.usual_error);
  return facts.reach * beyond + beyond * beyond / 2;
}
// Where a score starts: minus half of the squared norm, raised by what the sum's error and an
// unusual rounding error could hide.
KSELECT_HD inline float start_for(const corpus_facts& facts, double square, double error) {
  const double half = square / 2, raised = raised_by(facts, error);
  const double terms = half + raised + facts.usual_norm * std::sqrt(square);
  const double start = raised - half + facts.sum_error * terms;
  return start == start ? float_above(start) : std::numeric_limits<float>::infinity();
}

// The starts of a corpus. -inf beyond the count, so that padding never passes.
struct start_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    rounded corpus;
    std::int64_t count, padded;
    global<const corpus_facts> facts;
    global<float> starts;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.padded) return;
    if (i >= a.count) return simt.store(a.starts, i, -std::numeric_limits<float>::infinity());
    simt.store(a.starts, i,
               start_for(simt.load(a.facts, 0), simt.load(a.corpus.squares, i),
                         simt.load(a.corpus.errors, i)));
  }
};

}  // namespace kselect::search::fused
