#pragma once
// Euclidean distance between vectors of float32.
//
// Squares are added to eight partial sums by fused multiply-adds, component c to sum c mod 8. A
// fixed tree adds the sums. This is the order of eight vector lanes. So the host uses full vectors,
// a GPU thread uses eight independent chains, and both get the same bits.

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

struct euclidean {
  static constexpr std::string_view name = "euclidean";
  static constexpr std::string_view objects = "vectors";
  static constexpr int partial_sums = 8;

  // Rows are padded to a multiple of eight components with zeros, which add nothing to a sum.
  class set {
   public:
    set() = default;
    // `dense`: [count][dimension]. Throws std::invalid_argument unless the sizes agree.
    set(std::span<const float> dense, std::int64_t count, std::int64_t dimension);

    std::int64_t count() const { return count_; }
    std::int64_t dimension() const { return dimension_; }
    std::int64_t padded() const {
      return (dimension_ + partial_sums - 1) / partial_sums * partial_sums;
    }
    const float* row(std::int64_t i) const { return data_.data() + i * padded(); }
    set gather(std::span<const std::int64_t> numbers) const;
    std::vector<float> dense() const;

   private:
    std::int64_t count_ = 0, dimension_ = 0;
    std::vector<float> data_;  // [count][padded]
  };

  struct probe {
    const float* row;  // padded; lives as long as its set
  };

  struct view {
    simt::global<const float>
        data;  // [dimension][count]: neighbouring threads, neighbouring floats
    std::int64_t count;
    int dimension;
  };

  // .npy, .fvecs, idx and the other formats of runtime/io/vectors.hpp; saved as .npy.
  static set load(const std::string& file);
  static void save(const set&, const std::string& file);
  static std::string text(const set&, std::int64_t) { return {}; }
  static void write(const set&, sections& out);
  static set read(const sections& from);
  static void adapt(set& queries, const set& corpus);
  static tolerance tolerance_of(const set&);

  static probe prepare(const set& s, std::int64_t i) { return {s.row(i)}; }
  static float distance(const set& s, std::int64_t i, const probe& p) {
    const float* const y = s.row(i);
    float sums[partial_sums] = {};
    for (std::int64_t c = 0; c < s.padded(); c += partial_sums) {
      // If this loop were unrolled, GCC 12 would not vectorise it.
#if !defined(__CUDACC__)  // nvcc does not know the pragma and does not need this function
#pragma GCC unroll 1
#endif
      for (int lane = 0; lane < partial_sums; ++lane) {
        const float difference = y[c + lane] - p.row[c + lane];
        sums[lane] = std::fma(difference, difference, sums[lane]);
      }
    }
    return std::sqrt(total(sums));
  }

  // Optional: prefetches object i, which will be compared soon.
  static void prefetch(const set& s, std::int64_t i) {
    constexpr std::int64_t line = 16, most = 4 * line;  // floats; hardware prefetches the rest
    for (std::int64_t c = 0; c < s.padded() && c < most; c += line) {
      __builtin_prefetch(s.row(i) + c);
    }
  }

  static std::size_t image_bytes(const set& s) {
    return static_cast<std::size_t>(s.count() * s.dimension()) * sizeof(float);
  }
  static void write_image(const set&, std::byte* memory, int threads);
  static view attach(const set&, std::byte* memory);
  // Staged queries are padded as rows are.
  static std::size_t staged_bytes(const set& queries) {
    return static_cast<std::size_t>(queries.padded()) * sizeof(float);
  }

  template <class Simt>
  KSELECT_HD static void stage(Simt& simt, const view& queries, std::int64_t q, void* staged) {
    auto* const x = static_cast<float*>(staged);
    const int padded = (queries.dimension + partial_sums - 1) / partial_sums * partial_sums;
    for (int c = simt.thread(); c < padded; c += simt.threads()) {
      x[c] = c < queries.dimension ? simt.load(queries.data, c * queries.count + q) : 0;
    }
  }
  template <class Simt>
  KSELECT_HD static float distance(Simt& simt, const view& v, std::int64_t i, const void* staged) {
    const auto* const x = static_cast<const float*>(staged);
    float sums[partial_sums] = {};
    int c = 0;
    for (; c + partial_sums <= v.dimension; c += partial_sums) {
      KSELECT_UNROLL
      for (int lane = 0; lane < partial_sums; ++lane) add(simt, v, i, x, c + lane, sums[lane]);
    }
    KSELECT_UNROLL
    for (int lane = 0; lane < partial_sums; ++lane) {
      if (c + lane < v.dimension) add(simt, v, i, x, c + lane, sums[lane]);
    }
    return sqrtf(total(sums));
  }

  // Optional, for kernels: so many tests of a query on a pivot take as long as a distance.
  KSELECT_HD static int tests_of_distance(const view& v) {
    return is_long(v) ? 4 + v.dimension / 4 : 5;
  }

  // Optional: whether an object is so long that it should be read for several queries at once, and
  // a screening of some components would spare little.
  KSELECT_HD static bool is_long(const view& v) { return v.dimension >= 64; }

  // Optional, for kernels: the first eight components tell of most vectors that they are too far
  // away.
  static constexpr bool screens = true;
  struct outline {
    float first[partial_sums];
  };
  template <class Simt>
  KSELECT_HD static outline outline_of(Simt& simt, const view& v, std::int64_t i) {
    outline own;
    load_some(simt, v, i, 0, own.first);
    return own;
  }
  KSELECT_HD static outline outline_of_staged(const void* staged) {
    const auto* const at = static_cast<const four*>(staged);
    const four parts[2] = {at[0], at[1]};
    outline own;
    KSELECT_UNROLL
    for (int c = 0; c < partial_sums; ++c) own.first[c] = parts[c / 4].values[c % 4];
    return own;
  }
  template <class Simt>
  KSELECT_HD static bool certainly_beyond(Simt&, const outline& a, const outline& b, float radius) {
    float sum = 0;
    KSELECT_UNROLL
    for (int c = 0; c < partial_sums; ++c) {
      const float difference = a.first[c] - b.first[c];
      sum = fmaf(difference, difference, sum);
    }
    return sum > most_square(radius);
  }

  // Optional, for kernels: compares object i with several staged queries, aligned to 16 bytes, at
  // once. A component is loaded once for all. Calls f(j, distance) for those at most radii[j] away.
  // Stops when the sums of all queries so far are too great, because sums only grow.
  static constexpr bool measures_several = true;
  template <int count, class Simt, class F>
  KSELECT_HD static void distances_within(Simt& simt, const view& v, std::int64_t i,
                                          void* const (&staged)[count], const float (&radii)[count],
                                          const F& f) {
    constexpr int often = 32;  // sums are checked after 8, 16 and 32 components, then after each 32
    float sums[count][partial_sums] = {};
    int c = 0, check = partial_sums;
    constexpr bool ahead = count > 4;  // loads the next components while these are compared
    float next[partial_sums] = {};
    if (ahead && partial_sums <= v.dimension) load_eight(simt, v, i, 0, next);
    for (; c + partial_sums <= v.dimension; c += partial_sums) {
      float y[partial_sums];
      KSELECT_UNROLL
      for (int lane = 0; lane < partial_sums; ++lane) y[lane] = next[lane];
      if (!ahead) load_eight(simt, v, i, c, y);
      if (ahead && c + 2 * partial_sums <= v.dimension) {
        load_eight(simt, v, i, c + partial_sums, next);
      }
      KSELECT_UNROLL
      for (int j = 0; j < count; ++j) add_eight(y, staged[j], c, sums[j]);
      if (c + partial_sums != check) continue;
      check += check < often ? check : often;
      if (all_beyond(sums, radii)) return;
    }
    if (c < v.dimension) {
      float y[partial_sums];
      load_some(simt, v, i, c, y);
      KSELECT_UNROLL
      for (int j = 0; j < count; ++j) add_eight(y, staged[j], c, sums[j]);
    }
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) {
      if (total(sums[j]) > most_square(radii[j])) continue;  // spares most roots
      const float d = sqrtf(total(sums[j]));
      if (d <= radii[j]) f(j, d);
    }
  }

 private:
  struct alignas(16) four {
    float values[4];
  };
  template <class Simt>
  KSELECT_HD static void load_eight(Simt& simt, const view& v, std::int64_t i, int c,
                                    float (&y)[partial_sums]) {
    KSELECT_UNROLL
    for (int lane = 0; lane < partial_sums; ++lane) {
      y[lane] = simt.load(v.data, (c + lane) * v.count + i);
    }
  }
  KSELECT_HD static void add_eight(const float (&y)[partial_sums], const void* staged, int c,
                                   float (&sums)[partial_sums]) {
    const auto* const at = static_cast<const four*>(staged) + c / 4;
    const four parts[2] = {at[0], at[1]};
    KSELECT_UNROLL
    for (int lane = 0; lane < partial_sums; ++lane) {
      const float difference = y[lane] - parts[lane / 4].values[lane % 4];
      sums[lane] = fmaf(difference, difference, sums[lane]);
    }
  }
  // The same of the last components; 0 beyond them.
  template <class Simt>
  KSELECT_HD static void load_some(Simt& simt, const view& v, std::int64_t i, int c,
                                   float (&y)[partial_sums]) {
    KSELECT_UNROLL
    for (int lane = 0; lane < partial_sums; ++lane) {
      y[lane] = c + lane < v.dimension ? simt.load(v.data, (c + lane) * v.count + i) : 0;
    }
  }
  template <int count>
  KSELECT_HD static bool all_beyond(const float (&sums)[count][partial_sums],
                                    const float (&radii)[count]) {
    bool all = true;
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) all = all && total(sums[j]) > most_square(radii[j]);
    return all;
  }
  // A greater square has a root above the radius: the margin is more than all roundings.
  KSELECT_HD static float most_square(float radius) {
    return fmaf(radius * radius, 1 + 0x1p-20F, 0x1p-120F);
  }
  KSELECT_HD static float total(const float (&s)[partial_sums]) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
  template <class Simt>
  KSELECT_HD static void add(Simt& simt, const view& v, std::int64_t i, const float* x, int c,
                             float& sum) {
    const float difference = simt.load(v.data, c * v.count + i) - x[c];
    sum = fmaf(difference, difference, sum);
  }
};

}  // namespace kselect::search::metric_space
