// The product writes -2 w x.y. The pass adds w |x|^2 + w |y|^2 in place. It reads and writes the
// result once, which is the minimum for two steps.

#include <limits>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/distance/cuda/distance_rows.hpp"
#include "runtime/distance/cuda/image.cuh"

namespace kselect::runtime {
namespace {

// A distance is not negative. NaN comes from norms beyond float32, so it becomes infinite.
__device__ float ranked(float sum) { return sum >= 0 ? sum : sum < 0 ? 0 : INFINITY; }

// ---- the pass ----

constexpr int block = 256;
constexpr int columns_per_thread = 4;  // one 16-byte access
constexpr int rows_per_block = 16;     // the corpus' norms are read once for all of them

__global__ void __launch_bounds__(block)
    add_norms(const float* of_queries, std::int64_t queries, const float* of_corpus,
              std::int64_t corpus, float* out, std::int64_t pitch) {
  const std::int64_t column = (std::int64_t{blockIdx.x} * block + threadIdx.x) * columns_per_thread;
  if (column >= corpus) return;
  float b[columns_per_thread];
  for (int c = 0; c < columns_per_thread; ++c) {
    b[c] = column + c < corpus ? of_corpus[column + c] : 0;
  }
  const std::int64_t first = std::int64_t{blockIdx.y} * rows_per_block;
#pragma unroll 4
  for (int r = 0; r < rows_per_block; ++r) {
    if (first + r >= queries) return;
    const float a = of_queries[first + r];
    auto* const at = reinterpret_cast<float4*>(out + (first + r) * pitch + column);
    const float4 p = *at;
    *at = {ranked(p.x + (a + b[0])), ranked(p.y + (a + b[1])), ranked(p.z + (a + b[2])),
           ranked(p.w + (a + b[3]))};
  }
}

// ---- the pass over half a product ----

constexpr int side = 32;
constexpr int strips = 8;  // rows of a tile that a block moves at once

enum class written : std::uint8_t { both_ways, by_itself, transposed_alone };

// Block (x, y) takes the tile of rows y and columns x. It writes the tile and its transpose, or
// only the transpose, in whole cache lines. A product of a set by itself has only the elements with
// column >= row, and `transposed` is the same matrix. Then only blocks with x >= y work, and no
// other block accesses their two tiles.
template <written what>
__global__ void __launch_bounds__(side* strips)
    add_norms_transposing(const float* of_queries, std::int64_t queries, const float* of_corpus,
                          std::int64_t corpus, float* out, std::int64_t pitch, float* transposed,
                          std::int64_t transposed_pitch) {
  constexpr bool by_itself = what == written::by_itself;
  if (by_itself && blockIdx.x < blockIdx.y) return;
  __shared__ float tile[side][side + 1];
  const std::int64_t top = std::int64_t{blockIdx.y} * side;
  const std::int64_t left = std::int64_t{blockIdx.x} * side;
  const auto lane = static_cast<int>(threadIdx.x);
  const std::int64_t column = left + lane;
  for (int r = static_cast<int>(threadIdx.y); r < side; r += strips) {
    const std::int64_t row = top + r;
    if (row >= queries || column >= corpus || (by_itself && column < row)) continue;
    const float d = ranked(out[row * pitch + column] + (of_queries[row] + of_corpus[column]));
    if constexpr (what != written::transposed_alone) out[row * pitch + column] = d;
    tile[r][lane] = d;
  }
  __syncthreads();
  const std::int64_t query = top + lane;
  for (int r = static_cast<int>(threadIdx.y); r < side; r += strips) {
    const std::int64_t neighbour = left + r;
    if (neighbour >= corpus || query >= queries || (by_itself && query >= neighbour)) continue;
    transposed[neighbour * transposed_pitch + query] = tile[lane][r];
  }
}

// ---- directly, in float64 ----

constexpr int tile_side = 32;   // queries and corpus vectors a block
constexpr int tile_depth = 16;  // components at a time
constexpr int tile_threads = 16;
constexpr int per_thread = tile_side / tile_threads;

using image_tile = double[tile_side][tile_depth + 1];

// Loads components [first, first + tile_depth) of the images of vectors number(0 .. tile_side - 1);
// 0 beyond the dimension.
template <class Number>
__device__ void load_tile(image_tile& tile, const vectors_on_device& v, std::int64_t first,
                          std::int64_t count, Number number) {
  const int thread = static_cast<int>(threadIdx.y) * tile_threads + static_cast<int>(threadIdx.x);
  for (int i = thread; i < tile_side * tile_depth; i += tile_threads * tile_threads) {
    const int row = i / tile_depth;
    const std::int64_t c = first + i % tile_depth;
    const std::int64_t index = number.first + row;
    const bool inside = index < count && c < v.dimension;
    tile[row][i % tile_depth] = inside ? image_of(v, number(index))[c] : 0;
  }
}

struct in_order {
  std::int64_t first;
  __device__ std::int64_t operator()(std::int64_t i) const { return i; }
};
struct as_chosen {
  std::int64_t first;
  const std::int32_t* chosen;
  __device__ std::int64_t operator()(std::int64_t i) const { return chosen[i]; }
};

// (d - from) / from. Of no distance any number that tells 0 from more will do.
__device__ float farther_by(double d, double from) {
  return static_cast<float>(from > 0 ? (d - from) / from : d > 0 ? 1 : 0);
}

__global__ void __launch_bounds__(tile_threads* tile_threads)
    measure_directly(vectors_on_device queries, const std::int32_t* chosen, std::int64_t count,
                     const double* from, vectors_on_device corpus, float* out, std::int64_t pitch) {
  __shared__ image_tile x, y;
  const as_chosen rows{std::int64_t{blockIdx.y} * tile_side, chosen};
  const in_order columns{std::int64_t{blockIdx.x} * tile_side};
  const auto tx = static_cast<int>(threadIdx.x);
  const auto ty = static_cast<int>(threadIdx.y);
  double sums[per_thread][per_thread] = {};
  for (std::int64_t first = 0; first < corpus.dimension; first += tile_depth) {
    load_tile(x, queries, first, count, rows);
    load_tile(y, corpus, first, corpus.count, columns);
    __syncthreads();
    for (int c = 0; c < tile_depth; ++c) {
      for (int i = 0; i < per_thread; ++i) {
        for (int j = 0; j < per_thread; ++j) {
          const double d = x[ty + i * tile_threads][c] - y[tx + j * tile_threads][c];
          sums[i][j] += d * d;
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < per_thread; ++i) {
    for (int j = 0; j < per_thread; ++j) {
      const std::int64_t row = rows.first + ty + i * tile_threads;
      const std::int64_t column = columns.first + tx + j * tile_threads;
      if (row >= count || column >= corpus.count) continue;
      const double d =
          ranked_distance(sums[i][j], queries.scales != nullptr,
                          image_of(queries, chosen[row]).scale, image_of(corpus, column).scale);
      out[row * pitch + column] = farther_by(d, from[chosen[row]]);
    }
  }
}

// -2 w.
float product_weight(const vectors_on_device& v) { return v.scales == nullptr ? -2 : -1; }

template <written what>
void add_norms_transposing_on(cudaStream_t stream, const vectors_on_device& queries,
                              const vectors_on_device& corpus, float* out, std::int64_t pitch,
                              float* transposed, std::int64_t transposed_pitch) {
  const dim3 grid(static_cast<unsigned>(blocks_for(corpus.count, side)),
                  static_cast<unsigned>(blocks_for(queries.count, side)));
  add_norms_transposing<what><<<grid, dim3(side, strips), 0, stream>>>(
      queries.weighted_squares, queries.count, corpus.weighted_squares, corpus.count, out, pitch,
      transposed, transposed_pitch);
  require_launch("add_norms_transposing");
}

}  // namespace

distance_rows::distance_rows(void* stream, bool tf32)
    : stream_(static_cast<cudaStream_t>(stream)), tf32_(tf32) {
  require_cublas(cublasCreate(&cublas_), "cublasCreate");
  require_cublas(cublasSetStream(cublas_, stream_), "cublasSetStream");
}

distance_rows::~distance_rows() { cublasDestroy(cublas_); }

void distance_rows::product_only(const vectors_on_device& queries, const vectors_on_device& corpus,
                                 float* out, std::int64_t pitch) {
  // cuBLAS is column-major: our rows are its columns, so the corpus is its first factor.
  const float alpha = product_weight(corpus);
  const float beta = 0;
  const auto dimension = static_cast<int>(corpus.dimension);
  require_cublas(
      cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(corpus.count),
                   static_cast<int>(queries.count), dimension, &alpha, corpus.images, CUDA_R_32F,
                   dimension, queries.images, CUDA_R_32F, dimension, &beta, out, CUDA_R_32F,
                   static_cast<int>(pitch),
                   tf32_ ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx");
}

void distance_rows::multiply(const vectors_on_device& queries, const vectors_on_device& corpus,
                             float* out, std::int64_t pitch) {
  product_only(queries, corpus, out, pitch);
  const dim3 grid(static_cast<unsigned>(blocks_for(corpus.count, block * columns_per_thread)),
                  static_cast<unsigned>(blocks_for(queries.count, rows_per_block)));
  add_norms<<<grid, block, 0, stream_>>>(queries.weighted_squares, queries.count,
                                         corpus.weighted_squares, corpus.count, out, pitch);
  require_launch("add_norms");
}

void distance_rows::multiply_by_itself(const vectors_on_device& all, float* out,
                                       std::int64_t pitch) {
  const float alpha = product_weight(all);
  const float beta = 0;
  const auto dimension = static_cast<int>(all.dimension);
  require_cublas(
      cublasSetMathMode(cublas_, tf32_ ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
      "cublasSetMathMode");
  // cuBLAS' lower half is, in row-major order, the half with column >= row.
  require_cublas(
      cublasSsyrk(cublas_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, static_cast<int>(all.count),
                  dimension, &alpha, all.images, dimension, &beta, out, static_cast<int>(pitch)),
      "cublasSsyrk");
  add_norms_transposing_on<written::by_itself>(stream_, all, all, out, pitch, out, pitch);
}

void distance_rows::multiply_both_ways(const vectors_on_device& queries,
                                       const vectors_on_device& corpus, float* out,
                                       float* transposed, std::int64_t pitch) {
  product_only(queries, corpus, out, pitch);
  add_norms_transposing_on<written::both_ways>(stream_, queries, corpus, out, pitch, transposed,
                                               pitch);
}

void distance_rows::multiply_transposed(const vectors_on_device& queries,
                                        const vectors_on_device& corpus, float* product,
                                        std::int64_t pitch, float* transposed,
                                        std::int64_t transposed_pitch) {
  product_only(queries, corpus, product, pitch);
  add_norms_transposing_on<written::transposed_alone>(stream_, queries, corpus, product, pitch,
                                                      transposed, transposed_pitch);
}

void distance_rows::directly(const vectors_on_device& queries, const std::int32_t* chosen,
                             std::int64_t count, const double* from,
                             const vectors_on_device& corpus, float* out, std::int64_t pitch) {
  const dim3 grid(static_cast<unsigned>(blocks_for(corpus.count, tile_side)),
                  static_cast<unsigned>(blocks_for(count, tile_side)));
  measure_directly<<<grid, dim3(tile_threads, tile_threads), 0, stream_>>>(
      queries, chosen, count, from, corpus, out, pitch);
  require_launch("measure_directly");
}

double distance_rows::error_factor(std::int64_t dimension) const {
  const double roundings = static_cast<double>(tf32_ ? 2 * dimension : dimension) + 8;
  const double sum = roundings * 0x1p-24;
  if (sum >= 0.5) return std::numeric_limits<double>::infinity();
  return sum / (1 - sum) + (tf32_ ? 0x1.01p-9 : 0);
}

}  // namespace kselect::runtime
