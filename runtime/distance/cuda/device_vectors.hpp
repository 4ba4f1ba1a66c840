#pragma once
// Vectors in the memory of a GPU, with what must be known of each before the first product.
//
// As on the CPU (runtime/distance/distance.hpp), every metric is one formula on images
// (x - mean) * scale:  w |x|^2 + w |y|^2 - 2 w x.y = w |x - y|^2.  For sqeuclidean and euclidean
// the image is the vector itself and w is 1; for cosine and pearson it is a unit vector, kept as a
// copy of its own, and w is 1/2. (Komarov et al. divide the product of raw vectors by their norms;
// unit images cost one copy and cannot overflow or underflow.) The image of a zero vector, or of a
// constant one for pearson, is zero; its weighted square is set to 1/2 all the same, which makes
// its distance to anything 1.

#include <cstddef>
#include <cstdint>

#include "runtime/backend/backend.hpp"
#include "runtime/distance/distance.hpp"

namespace kselect::runtime {

constexpr bool has_unit_images(metric m) { return m == metric::cosine || m == metric::pearson; }

// Who sums the components. The sums are float64 either way; between vectors of integers they are
// exact and equal.
enum class norm_reduction : std::uint8_t {
  by_key,  // thrust::reduce_by_key over a transform iterator (Komarov et al., "Distance
           // Calculation"); the order of summation may differ between runs
  by_warp  // a warp a vector, always in the same order
};

constexpr auto names_of(norm_reduction) {
  return std::to_array<named<norm_reduction>>(
      {{norm_reduction::by_key, "by_key"}, {norm_reduction::by_warp, "by_warp"}});
}

// What kernels read. All of it device memory; rows of `dimension` floats, dense.
struct vectors_on_device {
  const float* raw = nullptr;               // [count][dimension]
  const float* images = nullptr;            // [count][dimension], rounded to float32
  const double* means = nullptr;            // [count]; null, with scales, where the image is raw
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

  // Where the vectors have to be copied to.
  float* raw() const { return reinterpret_cast<float*>(raw_.data()); }
  // Enqueues norms, means and images of the first `count` vectors on the backend's stream. Raises
  // `largest`, one float of device memory, to the largest weighted square if that is larger; null
  // where it is not wanted.
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
