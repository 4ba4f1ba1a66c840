// Computes norms, means, and the images of cosine and pearson. Float32 components are summed in
// float64. This costs no time, because memory is the bottleneck, and the sums' error is negligible
// beside that of the float32 product.

#include <algorithm>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/distance/cuda/device_array.hpp"
#include "runtime/distance/cuda/device_vectors.hpp"

namespace kselect::runtime {
namespace {

constexpr int warp = 32;
constexpr int block = 256;

// The summand of component i of the flat array: itself, or its squared difference from the mean.
struct summand {
  const float* raw;
  const double* means;  // null: 0
  std::int64_t dimension;
  bool squared;
  __host__ __device__ double operator()(std::int64_t i) const {
    const double x = raw[i] - (means == nullptr ? 0 : means[i / dimension]);
    return squared ? x * x : x;
  }
};

struct vector_of {
  std::int64_t dimension;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i / dimension; }
};

__global__ void sum_by_warp(summand of, std::int64_t count, double* sums) {
  const std::int64_t v = std::int64_t{blockIdx.x} * (block / warp) + threadIdx.x / warp;
  if (v >= count) return;  // the whole warp leaves
  double sum = 0;
  for (std::int64_t c = threadIdx.x % warp; c < of.dimension; c += warp) {
    sum += of(v * of.dimension + c);
  }
  for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  if (threadIdx.x % warp == 0) sums[v] = sum;
}

void sum(norm_reduction how, const summand& of, std::int64_t count, double* sums,
         cudaStream_t stream) {
  if (how == norm_reduction::by_warp) {
    sum_by_warp<<<static_cast<unsigned>(blocks_for(count, block / warp)), block, 0, stream>>>(
        of, count, sums);
    return require_launch("sum_by_warp");
  }
  const thrust::counting_iterator<std::int64_t> position(0);
  const auto keys = thrust::make_transform_iterator(position, vector_of{of.dimension});
  const auto summands = thrust::make_transform_iterator(position, of);
  thrust::reduce_by_key(thrust::cuda::par.on(stream), keys, keys + count * of.dimension, summands,
                        thrust::make_discard_iterator(), sums);
}

__global__ void divide(double* sums, std::int64_t count, double by) {
  const std::int64_t v = std::int64_t{blockIdx.x} * block + threadIdx.x;
  if (v < count) sums[v] /= by;
}

// `scales` is null if the image is the vector itself.
__global__ void weigh(const double* squares, std::int64_t count, double* scales, float* weighted,
                      float* largest) {
  const std::int64_t v = std::int64_t{blockIdx.x} * block + threadIdx.x;
  if (v >= count) return;
  if (scales != nullptr) scales[v] = squares[v] == 0 ? 0 : 1 / sqrt(squares[v]);
  const float mine = scales != nullptr ? 0.5F : static_cast<float>(squares[v]);
  weighted[v] = mine;
  // Non-negative floats have the same order as their bits.
  if (largest != nullptr) atomicMax(reinterpret_cast<int*>(largest), __float_as_int(mine));
}

// "We then center each vector using one thread block per vector." We scale it in the same pass.
__global__ void centre(vectors_on_device v, float* images) {
  const std::int64_t row = std::int64_t{blockIdx.x} * v.dimension;
  const double mean = v.means[blockIdx.x];
  const double scale = v.scales[blockIdx.x];
  for (std::int64_t c = threadIdx.x; c < v.dimension; c += block) {
    images[row + c] = static_cast<float>((v.raw[row + c] - mean) * scale);
  }
}

}  // namespace

device_vectors::device_vectors(backend& place, std::int64_t capacity, std::int64_t dimension,
                               metric m, norm_reduction how)
    : place_(&place), metric_(m), how_(how), dimension_(dimension) {
  raw_ = make_array<float>(place, capacity * dimension);
  squares_ = make_array<double>(place, capacity);
  weighted_squares_ = make_array<float>(place, capacity);
  if (!has_unit_images(m)) return;
  images_ = make_array<float>(place, capacity * dimension);
  means_ = make_array<double>(place, capacity);
  scales_ = make_array<double>(place, capacity);
}

void device_vectors::summarise(std::int64_t count, float* largest) {
  if (count == 0) return;
  const auto stream = static_cast<cudaStream_t>(place_->executor().stream);
  const bool unit = has_unit_images(metric_);
  const auto blocks = static_cast<unsigned>(blocks_for(count, block));
  if (unit) {
    require_cuda(
        cudaMemsetAsync(means_.data(), 0, static_cast<std::size_t>(count) * sizeof(double), stream),
        "cudaMemsetAsync");
  }
  if (metric_ == metric::pearson) {
    sum(how_, {raw(), nullptr, dimension_, false}, count, as<double>(means_), stream);
    divide<<<blocks, block, 0, stream>>>(as<double>(means_), count,
                                         static_cast<double>(dimension_));
    require_launch("divide");
  }
  const double* const means = metric_ == metric::pearson ? as<double>(means_) : nullptr;
  sum(how_, {raw(), means, dimension_, true}, count, as<double>(squares_), stream);
  weigh<<<blocks, block, 0, stream>>>(as<double>(squares_), count,
                                      unit ? as<double>(scales_) : nullptr,
                                      as<float>(weighted_squares_), largest);
  require_launch("weigh");
  if (!unit) return;
  centre<<<static_cast<unsigned>(count), block, 0, stream>>>(view(count), as<float>(images_));
  require_launch("centre");
}

vectors_on_device device_vectors::view(std::int64_t count) const {
  const bool unit = has_unit_images(metric_);
  return {raw(),
          unit ? as<float>(images_) : raw(),
          unit ? as<double>(means_) : nullptr,
          unit ? as<double>(scales_) : nullptr,
          as<float>(weighted_squares_),
          count,
          dimension_};
}

}  // namespace kselect::runtime
