#pragma once
// The bodies by wgmma have one block a multiprocessor. It takes several pieces of the work in
// turns, so that the ring brings the next piece's tiles while the last of a piece are filtered.

#include <algorithm>

#include "search/knn/fused/filter_args.cuh"

namespace kselect::search::fused {

inline std::int64_t blocks_that_take(std::int64_t pieces, const device& place) {
  return std::min<std::int64_t>(pieces, std::max(1, place.multiprocessors));
}

namespace hopper {

// The number of the calling block's piece, of its first at first. `several`: it takes several.
template <bool several = true>
class pieces_of_block {
 public:
  template <class Simt>
  __device__ pieces_of_block(const Simt& simt, const filter_args& a)
      : piece_(simt.block()), pieces_(a.pieces), blocks_(simt.blocks()) {}
  __device__ bool is_last() const { return !several || piece_ + blocks_ >= pieces_; }
  // Goes on to the next one.
  __device__ int next() { return piece_ += blocks_; }

 private:
  int piece_, pieces_, blocks_;
};

}  // namespace hopper
}  // namespace kselect::search::fused
