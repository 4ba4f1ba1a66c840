#pragma once
// The distances between all of two sets of vectors, as the rows of a selection problem in the
// memory of a GPU: float32 products and norms (distance_rows.hpp), in either layout.
//
// Unlike distances to rank by, euclidean's are roots. An element has the same bits in both layouts
// and with any pitch, as the products are the same calls of cuBLAS, which gives the same bits for
// the same call on the same model of GPU; norms are summed in a fixed order.

#include "kselect/problem.hpp"
#include "runtime/distance/cuda/distance_rows.hpp"

namespace kselect::runtime {

class distance_matrix {
 public:
  // Room for the vectors and, where the product cannot be written in its place, for a part of it:
  // at most a gibibyte, or 256 rows of the product. `place` must be a CUDA backend and outlive this
  // object. Throws error(failure::resources).
  distance_matrix(backend& place, const problem& shape, runtime::metric metric,
                  std::int64_t dimension);

  // Where the n base vectors and the Q queries have to be copied to.
  float* base() const { return base_.raw(); }
  float* queries() const { return queries_.raw(); }

  // Enqueues norms, product and the pass over it: problem.input_elements() floats of device memory,
  // aligned to 16 bytes. What lies between rows is no longer defined.
  void write(float* out);

 private:
  void write_tile(const vectors_on_device& some, const vectors_on_device& all, std::int64_t first,
                  float* out);

  problem shape_;
  runtime::metric metric_;
  cudaStream_t stream_;
  device_vectors base_, queries_;
  distance_rows product_;
  std::int64_t tile_, pitch_;  // queries of a product, and its pitch
  device_buffer staged_;
};

}  // namespace kselect::runtime
