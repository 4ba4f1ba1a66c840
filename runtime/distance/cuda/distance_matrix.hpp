#pragma once
// All distances between two sets of vectors in the memory of a GPU, as the rows of a selection
// problem in either layout: float32 products and norms (distance_rows.hpp).
//
// Unlike in distance_rows.hpp, euclidean distances are roots here. An element has the same bits in
// both layouts and with any pitch: the cuBLAS calls are the same, and cuBLAS gives the same bits
// for the same call on the same model of GPU. Norms are summed in a fixed order.

#include "kselect/problem.hpp"
#include "runtime/distance/cuda/distance_rows.hpp"

namespace kselect::runtime {

class distance_matrix {
 public:
  // Allocates the vectors. If the product cannot be written to the caller's rows directly, also
  // allocates a part of it: at most 1 GiB, or 256 rows. `place` must be a CUDA backend and outlive
  // this object. Throws error(failure::resources).
  distance_matrix(backend& place, const problem& shape, runtime::metric metric,
                  std::int64_t dimension);

  // The caller copies the n base vectors and the Q queries to these addresses.
  float* base() const { return base_.raw(); }
  float* queries() const { return queries_.raw(); }

  // Enqueues the norms, the product and the pass that adds them. Writes problem.input_elements()
  // floats of device memory, aligned to 16 bytes. Elements between rows become undefined.
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
