#pragma once
// Rows of distances in the memory of a GPU: one cuBLAS product and one pass over its result. For
// the few queries that need it, they are computed directly in float64.
//
// These distances serve to rank, so euclidean's are squared. A root would not change ranks, and k
// roots are cheaper than n. A float32 product of D terms has an error. With weighted squares a and
// b (device_vectors.hpp), for any summation order,
//
//     |ranked - true| <= error_factor(D) * (sqrt(a) + sqrt(b))^2 + D * smallest_step
//
// as long as (sqrt(a) + sqrt(b))^2 is below largest_scale, so that nothing overflows. The first
// term covers D + 8 roundings by 2^-24 (product, images, norms, last sums). With TF32 it also
// covers two factors truncated to 2^-10, and the sum's roundings count twice, because tensor cores
// truncate. The second term covers products below the smallest normal number.

#include <cstdint>
#include <cublas_v2.h>

#include "runtime/distance/cuda/device_vectors.hpp"

namespace kselect::runtime {

class distance_rows {
 public:
  static constexpr double largest_scale = 1e38;
  static constexpr double smallest_step = 0x1p-120;

  // All work is enqueued on `stream`. With `tf32`, tensor cores compute the product from factors of
  // 11 significant bits.
  distance_rows(void* stream, bool tf32);
  distance_rows(const distance_rows&) = delete;
  distance_rows& operator=(const distance_rows&) = delete;
  ~distance_rows();

  // Writes out[i * pitch + j], the distance from query i to corpus vector j. It is never negative
  // or NaN; beyond float32 it is +inf. `pitch` is a multiple of 4 and at least corpus.count. `out`
  // is aligned to 16 bytes and has queries.count * pitch elements. Elements from corpus.count to
  // the pitch are overwritten too. At most 2^19 queries and 2^30 corpus vectors.
  void multiply(const vectors_on_device& queries, const vectors_on_device& corpus, float* out,
                std::int64_t pitch);
  // Does multiply(all, all, ...) with half of the product. The other half is its transpose ("we
  // find the matrix of dot products by simply taking a transpose", Komarov et al.). Elements after
  // all.count stay unchanged.
  void multiply_by_itself(const vectors_on_device& all, float* out, std::int64_t pitch);
  // Does multiply(queries, corpus, out, pitch) and, from the same product, multiply(corpus,
  // queries, transposed, pitch). Both hold the same distances, bit for bit. At most 2^19 vectors on
  // either side. Elements after the counts stay unchanged. The pass that adds the norms also
  // transposes: one read and two writes. A separate cublasSgeam would read once more.
  void multiply_both_ways(const vectors_on_device& queries, const vectors_on_device& corpus,
                          float* out, float* transposed, std::int64_t pitch);
  // Writes to transposed[j * transposed_pitch + i] what multiply writes to out[i * pitch + j], bit
  // for bit. `product` is scratch for multiply's product, with its pitch and alignment. At most
  // 2^19 queries.
  void multiply_transposed(const vectors_on_device& queries, const vectors_on_device& corpus,
                           float* product, std::int64_t pitch, float* transposed,
                           std::int64_t transposed_pitch);
  // The product of multiply without the pass, to compare times with.
  void product_only(const vectors_on_device& queries, const vectors_on_device& corpus, float* out,
                    std::int64_t pitch);
  // For the `count` queries whose numbers are in `chosen` (device memory): computes distances d
  // directly in float64, where equal vectors are at distance 0, and writes how much farther they
  // are than from[number], (d - from) / from, rounded once. If from[number] is 0, writes 1 for
  // every d above 0.
  void directly(const vectors_on_device& queries, const std::int32_t* chosen, std::int64_t count,
                const double* from, const vectors_on_device& corpus, float* out,
                std::int64_t pitch);

  // Infinite if D is too large for a bound.
  double error_factor(std::int64_t dimension) const;

 private:
  cudaStream_t stream_;
  cublasHandle_t cublas_ = nullptr;
  bool tf32_;
};

}  // namespace kselect::runtime
