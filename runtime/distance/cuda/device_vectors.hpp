#pragma once
// Vectors in the memory of a GPU, with the norms and images that products need.
//
// As on the CPU (runtime/distance/distance.hpp), every metric is one formula on images
// (x - mean) * scale:  w |x|^2 + w |y|^2 - 2 w x.y = w |x - y|^2.  For sqeuclidean and euclidean
// the image is the vector itself and w is 1. For cosine and pearson the image is a unit vector,
// stored as a copy, and w is 1/2. (Komarov et al. divide the product of raw vectors by their norms.
// Unit images cost one copy and cannot overflow or underflow.) The image of a zero vector is zero,
// and so is that of a constant vector for pearson. Its weighted square is set to 1/2 nevertheless,
// which makes its distance to any vector 1.

#include <cstddef>
#include <cstdint>

#include "runtime/backend/backend.hpp"
#include "runtime/distance/distance.hpp"

namespace kselect::runtime {

constexpr bool has_unit_images(metric m) { return m == metric::cosine || m == metric::pearson; }

// How the components are summed. Both ways sum in float64. For vectors of integers, both results
// are exact and therefore equal.
enum class norm_reduction : std::uint8_t {
  by_key,  // thrust::reduce_by_key over a transform iterator (Komarov et al., "Distance
           // Calculation"); the summation order may differ between runs
  by_warp  // a warp a vector, always in the same order
};

constexpr auto names_of(norm_reduction) {
  return std::to_array<named<norm_reduction>>(
      {{norm_reduction::by_key, "by_key"}, {norm_reduction::by_warp, "by_warp"}});
}

// A kernel's view: device memory, dense rows of `dimension` floats.
struct vectors_on_device {
  const float* raw = nullptr;               // [count][dimension]
  const float* images = nullptr;            // [count][dimension], rounded to float32
  const double* means = nullptr;            // [count]; null, as scales, if the image is raw
  const double* scales = nullptr;           // [count]; 0: the image is zero
  const float* weighted_squares = nullptr;  // [count]: w |image|^2
  std::int64_t count = 0;
  std::int64_t dimension = 0;

  vectors_on_device slice(std::int64_t first, std::int64_t length) const {
    return {raw + first * dimension,
            images + first * dimension,
            means == nullptr ? nullptr : means + first,
            scales == nullptr ? nullptr : scales + first,
            weighted_squares + first,
            length,
            dimension};
  }
};

class device_vectors {
 public:
  // Room for `capacity` vectors; throws error(failure::resources). `place` must be a CUDA backend
  // and outlive this object.
  device_vectors(backend& place, std::int64_t capacity, std::int64_t dimension, metric m,
                 norm_reduction how);

  // The caller copies the vectors to this address.
  float* raw() const { return reinterpret_cast<float*>(raw_.data()); }
  // Enqueues norms, means and images of the first `count` vectors on the backend's stream. Raises
  // `largest`, one float of device memory, to the largest weighted square. Null: not wanted.
  void summarise(std::int64_t count, float* largest);
  vectors_on_device view(std::int64_t count) const;

  static constexpr std::int64_t bytes_per_vector(std::int64_t dimension, metric m) {
    constexpr std::int64_t number = sizeof(double);
    const std::int64_t components = dimension * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t always = components + number + static_cast<std::int64_t>(sizeof(float));
    return has_unit_images(m) ? always + components + 2 * number : always;
  }

 private:
  backend* place_;
  metric metric_;
  norm_reduction how_;
  std::int64_t dimension_;
  device_buffer raw_, images_, means_, scales_, squares_, weighted_squares_;
};

}  // namespace kselect::runtime
