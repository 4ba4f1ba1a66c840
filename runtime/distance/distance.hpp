#pragma once
// Distances between vectors on the CPU: the reference whose rows `kselect knn` selects from.
//
// The metrics and the method are those of Komarov et al. 2014 ("Fast k-NNG Construction with
// GPU-Based Quick Multi-Select", PLOS ONE 9(5), section "Distance Calculation"): a matrix product
// of all pairs, corrected by norms. x' is x minus the mean of its components:
//
//     sqeuclidean  |x|^2 + |y|^2 - 2 x.y       euclidean  its square root
//     cosine       1 - x.y / (|x| |y|)         pearson    1 - x'.y' / (|x'| |y'|)
//
// The paper prints the last two as similarities, without "1 -". With it, the order of neighbours is
// the same, and the nearest neighbour has the smallest distance in every metric. A zero vector has
// no direction, and a constant vector has no correlation. Their similarity to any vector, including
// themselves, is defined as 0, so the distance is 1. This is scikit-learn's convention. SciPy gives
// NaN, which has no rank.
//
// Products are accumulated in float64, at half the throughput of float32. So a distance depends on
// the two vectors only:
// - Between vectors of integers it is exact before the one rounding to float32, as long as the
//   squared norms stay below 2^53 (MNIST: 5.1e7, beyond the 2^24 that float32 could sum exactly).
// - Otherwise its relative error is below 2^-24 + 2^-25, slightly more than half a unit in the last
//   place. If the norms cancel, the squared differences are summed directly (distance.cpp). So
//   equal vectors are at distance 0 exactly, and no distance is negative. Cosine and pearson also
//   round the unit vectors: an absolute error below 1e-20, for instance between parallel vectors.
// - It does not depend on the number of threads. The BLAS chooses the summation order within a
//   product, so another BLAS, processor or tile size may change the last bit.

#include <cstdint>
#include <vector>

#include "runtime/distance/images.hpp"
#include "runtime/distance/metric.hpp"
#include "runtime/io/vectors.hpp"

namespace kselect::runtime {

struct distance_options {
  std::int64_t query_tile = 256;  // vectors of a tile of the matrix product, on either side
  std::int64_t base_tile = 512;
  int threads = 1;
};

class distance_calculator {
 public:
  // Keeps the view, so the vectors must outlive this object. Throws failure::usage for a tile size
  // or a number of threads below 1, and for the inner product, which is a metric of searches alone. Takes 24 bytes of memory a base vector.
  distance_calculator(vector_view base, runtime::metric metric,
                      const distance_options& options = {});

  // For each of `count` queries, dense rows of base.dimension components, writes the distances to
  // all base vectors: out[i * pitch + j] from query i to base vector j. With `exclude`, the row of
  // query i omits base vector exclude[i] and has base.count - 1 distances. So a vector is not its
  // own neighbour. Bytes between the rows stay unchanged.
  //
  // A squared distance beyond the range of float32 is +inf. A component that is not finite makes
  // its vector's distances NaN or +inf.
  //
  // Throws failure::usage if a row does not fit `pitch` or an excluded index is out of range.
  // Throws failure::resources if the tiles do not fit into memory: 8 bytes times query_tile x
  // base_tile plus 8 KiB times query_tile + base_tile, for each thread, for any count and
  // dimension. Sets the process' number of BLAS threads to 1.
  void rows(const float* queries, std::int64_t count, float* out, std::int64_t pitch,
            const std::int64_t* exclude = nullptr) const;

 private:
  struct tile;     // a range of queries against a range of base vectors
  struct scratch;  // one thread's buffers

  std::vector<scratch> allocate_scratch(int workers, std::int64_t queries) const;
  int workers_for(std::int64_t tasks) const;
  void require_rows(std::int64_t count, std::int64_t pitch, const std::int64_t* exclude) const;
  void multiply(const tile& t, scratch& s) const;
  void write(const tile& t, const scratch& s, float* out, std::int64_t pitch,
             const std::int64_t* exclude) const;
  float finish(double distance) const;

  vector_view base_;
  runtime::metric metric_;
  distance_options options_;
  std::vector<image> base_images_;
};

}  // namespace kselect::runtime
