// A candidate's rounded distance and its place in the row are packed into one integer, so that one
// sort of integers orders candidates nearest first. Distances are not negative, so they order as
// their bits do. Candidates whose distances round to the same are then ordered by the exact ones,
// and those by index.

#include <algorithm>
#include <cub/device/device_segmented_sort.cuh>
#include <limits>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/distance/cuda/device_array.hpp"
#include "runtime/distance/cuda/image.cuh"
#include "search/knn/cuda/candidates.hpp"

namespace kselect::search {
namespace {

constexpr int warp = 32;
constexpr int block = 256;
constexpr int warps = block / warp;

using key = candidate_order::key;
constexpr key left_out = ~key{0};

__device__ std::int64_t query_of(const query_rows& q, std::int64_t row) {
  return q.chosen == nullptr ? row : q.chosen[row];
}

__device__ std::int64_t this_warp() {
  return std::int64_t{blockIdx.x} * warps + threadIdx.x / warp;
}

unsigned blocks_of_warps(std::int64_t count) {
  return static_cast<unsigned>(blocks_for(count, warps));
}

// ---- candidates of a tile
// -------------------------------------------------------------------------

// One warp a candidate.
template <class Index>
__global__ void __launch_bounds__(block)
    place(selected from, query_rows queries, vectors_on_device tile, std::int64_t first,
          candidates to, std::int64_t at) {
  const std::int64_t pair = this_warp();
  const std::int64_t row = pair / from.kept;
  if (row >= queries.rows) return;  // the whole warp leaves
  const auto neighbour = static_cast<std::int64_t>(static_cast<const Index*>(from.positions)[pair]);
  const image_row x = image_of(queries.vectors, query_of(queries, row));
  const image_row y = image_of(tile, neighbour);
  double sum = 0;
#pragma unroll 4
  for (std::int64_t c = threadIdx.x % warp; c < tile.dimension; c += warp) {
    const double d = x[c] - y[c];
    sum += d * d;
  }
  for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  if (threadIdx.x % warp != 0) return;
  const std::int64_t target = row * to.pitch + at + pair % from.kept;
  to.ranked[target] = from.values[pair];
  to.index[target] = first + neighbour;
  to.exact[target] = ranked_distance(sum, tile.scales != nullptr, x.scale, y.scale);
}

template <class Index>
__global__ void __launch_bounds__(block)
    gather(selected chosen, std::int64_t rows, candidates from, candidates to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x;
  const std::int64_t row = i / chosen.kept;
  if (row >= rows) return;
  const std::int64_t source =
      row * from.pitch + static_cast<std::int64_t>(static_cast<const Index*>(chosen.positions)[i]);
  const std::int64_t target = row * to.pitch + i % chosen.kept;
  to.ranked[target] = chosen.values[i];
  to.index[target] = from.index[source];
  to.exact[target] = from.exact[source];
}

// ---- the answer
// -----------------------------------------------------------------------------------

__device__ double largest_error(const error_bound& bound, float weighted_square) {
  const double root = sqrt(static_cast<double>(weighted_square)) +
                      sqrt(static_cast<double>(*bound.largest_weighted_square));
  const double scale = root * root;
  return scale <= bound.largest_scale ? bound.factor * scale + bound.offset : INFINITY;
}

// One warp a row: packs the row's candidates. A row is proven if no left-out vector can be nearer
// than k of them.
__global__ void __launch_bounds__(block)
    pack_and_judge(query_rows queries, candidates from, std::int64_t kept, bool root,
                   error_bound bound, bool everything, std::int64_t k, key* keys,
                   std::uint8_t* proven) {
  const std::int64_t row = this_warp();
  if (row >= queries.rows) return;  // the whole warp leaves
  const std::int64_t query = query_of(queries, row);
  const std::int64_t own = queries.first_own < 0 ? -1 : queries.first_own + query;
  const std::int64_t start = row * from.pitch;
  const auto lane = static_cast<std::int64_t>(threadIdx.x % warp);
  float last = bound.directly ? -INFINITY : 0;  // none is NaN, and no distance negative
  for (std::int64_t j = lane; j < kept; j += warp) {
    const double exact = from.exact[start + j];
    const std::int64_t index = from.index[start + j];
    const auto distance = static_cast<float>(root ? sqrt(exact) : exact);
    keys[row * kept + j] =
        index == own ? left_out : key{__float_as_uint(distance)} << 32 | static_cast<key>(j);
    last = fmaxf(last, from.ranked[start + j]);
  }
  for (int step = warp / 2; step > 0; step /= 2) {
    last = fmaxf(last, __shfl_xor_sync(~0U, last, step));
  }
  if (bound.directly) {
    if (lane == 0) {
      proven[row] = everything || last >= -bound.factor ? 1 : 0;
    }
    return;
  }
  // If the bound is unknown, `safe` is -infinity or NaN and no candidate is at most `safe`.
  const double safe = last - largest_error(bound, queries.vectors.weighted_squares[query]);
  int nearer = 0;
  for (std::int64_t j = lane; j < kept; j += warp) {
    if (from.index[start + j] != own && from.exact[start + j] <= safe) ++nearer;
  }
  for (int step = warp / 2; step > 0; step /= 2) nearer += __shfl_xor_sync(~0U, nearer, step);
  if (lane == 0) proven[row] = everything || nearer >= k ? 1 : 0;
}

// A row's candidates in the order of their keys.
struct ordered_row {
  const key* keys;
  const double* exact;
  const std::int64_t* index;
  std::int64_t kept;

  __device__ std::int64_t slot(std::int64_t j) const {
    return static_cast<std::int64_t>(keys[j] & 0xffffffffU);
  }
  __device__ bool ties(std::int64_t i, std::int64_t j) const {
    return keys[i] >> 32 == keys[j] >> 32 && keys[i] != left_out && keys[j] != left_out;
  }
  __device__ bool before(std::int64_t i, std::int64_t j) const {
    const double a = exact[slot(i)], b = exact[slot(j)];
    return a < b || (a == b && index[slot(i)] < index[slot(j)]);
  }
  // The place of j: among those whose distances round to the same, by the exact ones.
  __device__ std::int64_t place_of(std::int64_t j) const {
    std::int64_t first = j, place = 0;
    for (; first > 0 && ties(first - 1, j); --first) place += before(first - 1, j) ? 1 : 0;
    for (std::int64_t i = j + 1; i < kept && ties(i, j); ++i) place += before(i, j) ? 1 : 0;
    return first + place;
  }
};

// A thread a candidate.
__global__ void __launch_bounds__(block)
    unpack(query_rows queries, candidates from, const key* ordered, std::int64_t kept,
           candidate_order::answer to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x;
  const std::int64_t row = i / kept, j = i % kept;
  if (row >= queries.rows) return;
  const ordered_row mine{ordered + row * kept, from.exact + row * from.pitch,
                         from.index + row * from.pitch, kept};
  if (mine.keys[j] == left_out) return;
  const std::int64_t place = mine.place_of(j);
  if (place >= to.k) return;
  const std::int64_t query = query_of(queries, row), target = query * to.k + place;
  to.indices[target] = mine.index[mine.slot(j)];
  to.distances[target] = __uint_as_float(static_cast<unsigned>(mine.keys[j] >> 32));
  if (place == to.k - 1) to.farthest[query] = mine.exact[mine.slot(j)];
}

struct start_of_row {
  std::int64_t kept;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * kept; }
};

cudaError_t sort(void* scratch, std::size_t& bytes, const key* keys, key* ordered,
                 std::int64_t rows, std::int64_t kept, cudaStream_t stream) {
  const auto starts = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                                      start_of_row{kept});
  return cub::DeviceSegmentedSort::SortKeys(scratch, bytes, keys, ordered, rows * kept, rows,
                                            starts, starts + 1, stream);
}

}  // namespace

void place_candidates(const selected& from, const query_rows& queries,
                      const vectors_on_device& tile, std::int64_t first, const candidates& to,
                      std::int64_t at, void* stream) {
  visit(from.index, [&]<class Index>(Index) {
    place<Index><<<blocks_of_warps(queries.rows * from.kept), block, 0,
                   static_cast<cudaStream_t>(stream)>>>(from, queries, tile, first, to, at);
  });
  require_launch("place_candidates");
}

void gather_candidates(const selected& chosen, std::int64_t rows, const candidates& from,
                       const candidates& to, void* stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(rows * chosen.kept, block));
  visit(chosen.index, [&]<class Index>(Index) {
    gather<Index><<<blocks, block, 0, static_cast<cudaStream_t>(stream)>>>(chosen, rows, from, to);
  });
  require_launch("gather_candidates");
}

candidate_order::candidate_order(backend& place, std::int64_t max_rows, std::int64_t kept)
    : kept_(kept) {
  keys_ = make_array<key>(place, max_rows * kept);
  ordered_ = make_array<key>(place, max_rows * kept);
  std::size_t scratch = 0;
  require_cuda(sort(nullptr, scratch, nullptr, nullptr, max_rows, kept, nullptr),
               "cub::DeviceSegmentedSort");
  scratch_ = device_buffer(place, scratch);
}

void candidate_order::write(const query_rows& queries, const candidates& from, metric m,
                            const error_bound& bound, bool everything, const answer& to,
                            void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  auto* const keys = as<key>(keys_);
  auto* const ordered = as<key>(ordered_);
  pack_and_judge<<<blocks_of_warps(queries.rows), block, 0, on>>>(
      queries, from, kept_, m == metric::euclidean, bound, everything, to.k, keys, to.proven);
  require_launch("pack_and_judge");
  std::size_t scratch = scratch_.size();
  require_cuda(sort(scratch_.data(), scratch, keys, ordered, queries.rows, kept_, on),
               "cub::DeviceSegmentedSort");
  unpack<<<static_cast<unsigned>(blocks_for(queries.rows * kept_, block)), block, 0, on>>>(
      queries, from, ordered, kept_, to);
  require_launch("unpack");
}

}  // namespace kselect::search
