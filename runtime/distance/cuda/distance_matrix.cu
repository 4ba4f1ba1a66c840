#include <algorithm>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/distance/cuda/device_array.hpp"
#include "runtime/distance/cuda/distance_matrix.hpp"

namespace kselect::runtime {
namespace {

constexpr int block = 256;
constexpr std::int64_t staged_floats = std::int64_t{1} << 28;
constexpr std::int64_t fewest_queries = 256, most_queries = 8192;

__global__ void take_roots(float* distances, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * block;
  for (std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x; i < count; i += stride) {
    distances[i] = sqrtf(distances[i]);
  }
}

// The smallest pitch that distance_rows accepts. It overwrites the elements up to the pitch.
std::int64_t product_pitch(std::int64_t n) { return (n + 3) / 4 * 4; }

// Whether the product can be written in place. A wider pitch leaves room after every row except the
// last.
bool in_place(const problem& p) {
  return p.layout == layout::row_major && p.effective_pitch() == p.n && p.n == product_pitch(p.n);
}

}  // namespace

distance_matrix::distance_matrix(backend& place, const problem& shape, runtime::metric metric,
                                 std::int64_t dimension)
    : shape_(shape),
      metric_(metric),
      stream_(static_cast<cudaStream_t>(place.executor().stream)),
      base_(place, shape.n, dimension, metric, norm_reduction::by_warp),
      queries_(place, shape.q, dimension, metric, norm_reduction::by_warp),
      product_(stream_, false),
      tile_(std::clamp(staged_floats / product_pitch(shape.n), fewest_queries, most_queries)),
      pitch_(product_pitch(shape.n)) {
  if (!in_place(shape)) staged_ = make_array<float>(place, std::min(tile_, shape.q) * pitch_);
}

void distance_matrix::write(float* out) {
  base_.summarise(shape_.n, nullptr);
  queries_.summarise(shape_.q, nullptr);
  for (std::int64_t first = 0; first < shape_.q; first += tile_) {
    const std::int64_t count = std::min(tile_, shape_.q - first);
    write_tile(queries_.view(shape_.q).slice(first, count), base_.view(shape_.n), first, out);
  }
  if (metric_ != metric::euclidean) return;
  constexpr std::int64_t most_blocks = 1 << 14;
  const auto blocks = std::min(blocks_for(shape_.input_elements(), block), most_blocks);
  take_roots<<<static_cast<unsigned>(blocks), block, 0, stream_>>>(out, shape_.input_elements());
  require_launch("take_roots");
}

void distance_matrix::write_tile(const vectors_on_device& some, const vectors_on_device& all,
                                 std::int64_t first, float* out) {
  const std::int64_t pitch = shape_.effective_pitch();
  if (in_place(shape_)) return product_.multiply(some, all, out + first * pitch, pitch);
  auto* const staged = as<float>(staged_);
  if (shape_.layout == layout::column_major) {
    return product_.multiply_transposed(some, all, staged, pitch_, out + first, pitch);
  }
  product_.multiply(some, all, staged, pitch_);
  const auto bytes = [](std::int64_t floats) {
    return static_cast<std::size_t>(floats) * sizeof(float);
  };
  require_cuda(
      cudaMemcpy2DAsync(out + first * pitch, bytes(pitch), staged, bytes(pitch_), bytes(all.count),
                        static_cast<std::size_t>(some.count), cudaMemcpyDeviceToDevice, stream_),
      "cudaMemcpy2DAsync");
}

}  // namespace kselect::runtime
