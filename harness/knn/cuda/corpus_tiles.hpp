#pragma once
// The corpus on a GPU, tile by tile: resident as a whole where it fits, else streamed from the host
// through two buffers, so that one is filled while the other is used.

#include <array>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <memory>

#include "harness/backend/backend.hpp"
#include "harness/distance/cuda/device_vectors.hpp"
#include "harness/io/vectors.hpp"
#include "harness/knn/cuda/plan.hpp"

namespace kselect {

// Memory of the host that a GPU copies from without the driver's help.
class pinned_floats {
 public:
  explicit pinned_floats(std::int64_t count);
  float* data() const { return memory_.get(); }

 private:
  struct releaser {
    void operator()(float* memory) const noexcept { cudaFreeHost(memory); }
  };
  std::unique_ptr<float[], releaser> memory_;
};

class corpus_tiles {
 public:
  // `base` must outlive this object.
  corpus_tiles(backend& place, vector_view base, metric m, norm_reduction how, const even_cut& cut,
               bool streamed);
  ~corpus_tiles();
  corpus_tiles(const corpus_tiles&) = delete;
  corpus_tiles& operator=(const corpus_tiles&) = delete;

  bool streamed() const { return resident_ == nullptr; }
  std::int64_t count() const { return cut_.parts; }
  std::int64_t first(std::int64_t tile) const { return cut_.first(tile); }
  std::int64_t width(std::int64_t tile) const { return cut_.width(tile); }

  // Enqueues norms and images of the resident corpus; not before it is asked for, so that it can be
  // timed. Nothing to do for a streamed one, whose tiles bring their own.
  void summarise();
  // The whole corpus, resident.
  vectors_on_device whole() const { return resident_->view(base_.count); }

  // Tiles are opened in order, 0 first; work enqueued after open may use the tile, until close.
  vectors_on_device open(std::int64_t tile);
  // Starts the copy of the tile after this one; to be called when the open tile's first work is
  // enqueued, as the host copies into pinned memory meanwhile.
  void prefetch_after(std::int64_t tile);
  void close(std::int64_t tile);

  // The largest weighted square of all tiles opened so far; device memory.
  const float* largest_weighted_square() const;

 private:
  struct slot;

  void load(std::int64_t tile);
  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_->executor().stream); }

  backend* place_;
  vector_view base_;
  even_cut cut_;
  device_buffer largest_;
  std::unique_ptr<device_vectors> resident_;
  std::array<std::unique_ptr<slot>, 2> slots_;
  std::size_t turn_ = 0;      // the slot that the next load fills
  std::int64_t loaded_ = -1;  // the tile loaded last, not yet opened; -1: none
  cudaStream_t copies_ = nullptr;
};

}  // namespace kselect
