#pragma once
// Rows of distances in the memory of a GPU: one cuBLAS product and one pass over its result, or,
// for the few queries that need it, directly in float64.
//
// These are distances to rank by: euclidean's are squared, as a root would change no rank and is
// cheaper to take of k than of n. A float32 product of D terms errs; with weighted squares a and b
// (device_vectors.hpp), whatever the order of summation,
//
//     |ranked - true| <= error_factor(D) * (sqrt(a) + sqrt(b))^2 + D * smallest_step
//
// as long as (sqrt(a) + sqrt(b))^2 stays below largest_scale, so that nothing overflows. The first
// term: D + 8 roundings by 2^-24 (product, images, norms, last sums), with TF32 also two factors
// cut to 2^-10 and twice the roundings of a sum that is cut instead of rounded. The second one is
// for products below the smallest normal number.

#include <cstdint>
#include <cublas_v2.h>

#include "runtime/distance/cuda/device_vectors.hpp"

namespace kselect::runtime {

class distance_rows {
 public:
  static constexpr double largest_scale = 1e38;
  static constexpr double smallest_step = 0x1p-120;

  // All work is enqueued on `stream`. With `tf32` the product is taken by tensor cores, whose
  // factors have 11 significant bits.
  distance_rows(void* stream, bool tf32);
  distance_rows(const distance_rows&) = delete;
  distance_rows& operator=(const distance_rows&) = delete;
  ~distance_rows();

  // out[i * pitch + j]: from queries' i-th to corpus' j-th vector, never negative, never NaN: what
  // is beyond float32 is +inf. `pitch` is a multiple of 4 and at least corpus.count, `out` aligned
  // to 16 bytes; the elements from corpus.count to the pitch are overwritten too. At most 2^19
  // queries and 2^30 corpus vectors; the lengths of `out` are the caller's to guarantee.
  void multiply(const vectors_on_device& queries, const vectors_on_device& corpus, float* out,
                std::int64_t pitch);
  // multiply(all, all, ...) with half of the product: the other half is its transpose ("we find the
  // matrix of dot products by simply taking a transpose", Komarov et al.). Elements past all.count
  // stay as they are.
  void multiply_by_itself(const vectors_on_device& all, float* out, std::int64_t pitch);
  // multiply(queries, corpus, out, pitch) and, from the same product, multiply(corpus, queries,
  // transposed, pitch): the same distance stands in both, bit for bit. At most 2^19 vectors on
  // either side. Elements past the counts stay as they are. The pass that adds the norms transposes
  // too: one read and two writes, where a cublasSgeam of its own would read once more.
  void multiply_both_ways(const vectors_on_device& queries, const vectors_on_device& corpus,
                          float* out, float* transposed, std::int64_t pitch);
  // transposed[j * transposed_pitch + i]: what multiply writes to out[i * pitch + j], bit for bit.
  // `product` is room for multiply's product, with its pitch and alignment. At most 2^19 queries.
  void multiply_transposed(const vectors_on_device& queries, const vectors_on_device& corpus,
                           float* product, std::int64_t pitch, float* transposed,
                           std::int64_t transposed_pitch);
  // The bare product of multiply, without the pass: what its time is compared with.
  void product_only(const vectors_on_device& queries, const vectors_on_device& corpus, float* out,
                    std::int64_t pitch);
  // Directly in float64, rounded once, for the `count` queries whose numbers are in `chosen`
  // (device memory). Equal vectors are at distance 0.
  void directly(const vectors_on_device& queries, const std::int32_t* chosen, std::int64_t count,
                const vectors_on_device& corpus, float* out, std::int64_t pitch);

  // Infinite where D is too large for a bound.
  double error_factor(std::int64_t dimension) const;

 private:
  cudaStream_t stream_;
  cublasHandle_t cublas_ = nullptr;
  bool tf32_;
};

}  // namespace kselect::runtime
