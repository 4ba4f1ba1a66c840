#pragma once
// Distances between vectors on the CPU: the reference whose rows `kselect knn` selects from.
//
// The metrics are those of Komarov et al. 2014 ("Fast k-NNG Construction with GPU-Based Quick
// Multi-Select", PLOS ONE 9(5), section "Distance Calculation"), and so is the way to them: a
// matrix product of all pairs, corrected by norms. With x' = x less the mean of its components:
//
//     sqeuclidean  |x|^2 + |y|^2 - 2 x.y       euclidean  its square root
//     cosine       1 - x.y / (|x| |y|)         pearson    1 - x'.y' / (|x'| |y'|)
//
// (The paper prints the last two without "1 -", as similarities; taken from 1 they order the same
// neighbours first, and nearest is smallest in every metric.) A zero vector has no direction and a
// constant one no correlation: their similarity to anything, themselves included, is defined as 0,
// so their distance is 1. That is scikit-learn's convention; SciPy gives NaN, which has no rank.
//
// Products are accumulated in float64, not float32, at half the throughput. It buys that a distance
// is a property of the two vectors alone:
// - Between vectors of integers it is exact before the one rounding to float32, as long as the
//   squared norms stay below 2^53 (MNIST: 5.1e7, beyond the 2^24 that float32 could sum exactly).
// - Elsewhere its relative error is below 2^-24 + 2^-25, half a unit in the last place and a bit.
//   Where the norms cancel, the difference is summed directly instead (distance.cpp); equal
//   vectors are at distance 0 exactly, and no distance is negative. Cosine and pearson add the
//   rounding of the unit vectors: below 1e-20 absolute, for instance between parallel vectors.
// - It does not depend on the number of threads. The summation order within a product belongs to
//   the BLAS: another BLAS, processor or tile size may flip the rounding of the last bit.

#include <array>
#include <cstdint>
#include <vector>

#include "kselect/names.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::runtime {

enum class metric : std::uint8_t { sqeuclidean, euclidean, cosine, pearson };

constexpr auto names_of(metric) {
  return std::to_array<named<metric>>({{metric::sqeuclidean, "sqeuclidean"},
                                       {metric::euclidean, "euclidean"},
                                       {metric::cosine, "cosine"},
                                       {metric::pearson, "pearson"}});
}

struct distance_options {
  std::int64_t query_tile = 256;  // vectors to a tile of the matrix product, on either side
  std::int64_t base_tile = 512;
  int threads = 1;
};

class distance_calculator {
 public:
  // Keeps the view: what it refers to must outlive this object. Throws failure::usage for a tile
  // size or a number of threads below 1. Memory: 24 bytes per base vector.
  distance_calculator(vector_view base, runtime::metric metric,
                      const distance_options& options = {});

  // Writes for each of `count` queries, dense rows of base.dimension components, the distances to
  // all base vectors: out[i * pitch + j] to the j-th. With `exclude`, query i's row leaves out base
  // vector exclude[i] and is compacted to base.count - 1 distances; that is how a vector is kept
  // from being its own neighbour. What lies between the rows is left alone.
  //
  // A squared distance beyond the range of float32 is +inf; a component that is not finite makes
  // its vector's distances NaN or +inf.
  //
  // Throws failure::usage when a row does not fit `pitch` or an excluded index is out of range, and
  // failure::resources when the tiles do not fit: per thread 8 bytes times query_tile x base_tile,
  // plus 8 KiB times query_tile + base_tile; whatever the count and the dimension. Sets the number
  // of BLAS threads of the process to 1.
  void rows(const float* queries, std::int64_t count, float* out, std::int64_t pitch,
            const std::int64_t* exclude = nullptr) const;

 private:
  // What has to be known of a vector before its first product. Its image is (x - mean) * scale.
  struct summary {
    double mean = 0;
    double scale = 1;
    double square = 0;  // squared norm of the image; 1 by definition for cosine and pearson
  };
  struct tile;     // a range of queries against a range of base vectors
  struct scratch;  // one thread's buffers

  std::vector<scratch> allocate_scratch() const;
  void require_rows(std::int64_t count, std::int64_t pitch, const std::int64_t* exclude) const;
  summary summarise(const float* x) const;
  std::vector<summary> summarise_all(const float* vectors, std::int64_t count) const;
  double direct(const float* x, const summary& of_x, const float* y, const summary& of_y) const;
  void multiply(const tile& t, scratch& s) const;
  void write(const tile& t, const scratch& s, float* out, std::int64_t pitch,
             const std::int64_t* exclude) const;
  float finish(double distance) const;

  vector_view base_;
  runtime::metric metric_;
  distance_options options_;
  std::vector<summary> base_summaries_;
};

}  // namespace kselect::runtime
