#pragma once
// What baselines/faiss_gpu_select.cu uses of FAISS (1.7.4 to 1.13) for GPUs, as its headers declare
// it, over host memory; see raft_standin.hpp. Queues start as FAISS's: at the largest finite float
// with index -1.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cuda_stream_standin.hpp"

namespace faiss {

using idx_t = std::int64_t;

namespace gpu {

template <class T, int dimensions, bool inner_contiguous = false, class Index = idx_t>
class Tensor {
 public:
  using IndexType = Index;
  Tensor(T* data, const Index sizes[dimensions], const Index strides[dimensions]) : data_(data) {
    std::copy_n(sizes, dimensions, sizes_);
    std::copy_n(strides, dimensions, strides_);
    if (inner_contiguous && strides[dimensions - 1] != 1) {
      throw std::runtime_error("not contiguous");
    }
  }
  Tensor(Tensor& other) = default;  // as FAISS's: not from const
  Tensor(Tensor&& other) = default;
  Index getSize(int i) const { return sizes_[i]; }
  T& at(Index row, Index column) { return data_[row * strides_[0] + column * strides_[1]]; }

 private:
  T* data_;
  Index sizes_[dimensions], strides_[dimensions];
};

// Which of the two was called last.
inline const char*& called() {
  static const char* name = "";
  return name;
}

inline void select_on_host(Tensor<float, 2, true>& in, Tensor<float, 2, true>& outK,
                           Tensor<idx_t, 2, true>& outV, bool dir, int k) {
  if (k > 2048 || outK.getSize(1) != k || outV.getSize(1) != k ||
      outK.getSize(0) != in.getSize(0) || outV.getSize(0) != in.getSize(0)) {
    throw std::runtime_error("not the sizes FAISS asserts");
  }
  const float worst =
      dir ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max();
  const auto better = [dir](const auto& a, const auto& b) {
    return dir ? a.first > b.first : a.first < b.first;
  };
  for (idx_t row = 0; row < in.getSize(0); ++row) {
    std::vector<std::pair<float, idx_t>> queue(static_cast<std::size_t>(k), {worst, -1});
    for (idx_t i = 0; i < in.getSize(1); ++i) queue.emplace_back(in.at(row, i), i);
    std::stable_sort(queue.begin(), queue.end(), better);
    for (idx_t j = 0; j < k; ++j) {
      outK.at(row, j) = queue[static_cast<std::size_t>(j)].first;
      outV.at(row, j) = queue[static_cast<std::size_t>(j)].second;
    }
  }
}

inline void runBlockSelect(Tensor<float, 2, true>& in, Tensor<float, 2, true>& outKeys,
                           Tensor<idx_t, 2, true>& outIndices, bool dir, int k, cudaStream_t) {
  called() = "block";
  select_on_host(in, outKeys, outIndices, dir, k);
}
inline void runWarpSelect(Tensor<float, 2, true>& in, Tensor<float, 2, true>& outKeys,
                          Tensor<idx_t, 2, true>& outIndices, bool dir, int k, cudaStream_t) {
  called() = "warp";
  select_on_host(in, outKeys, outIndices, dir, k);
}

}  // namespace gpu
}  // namespace faiss
