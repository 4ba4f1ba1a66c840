#pragma once
// The corpus on a GPU, tile by tile. If it is in host memory and fits, it is resident in one piece.
// Otherwise a thread and a stream bring tiles to slots of device memory through two pinned buffers.
// So reading a tile, copying it and working on the one before overlap.

#include <array>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "runtime/distance/cuda/device_vectors.hpp"
#include "runtime/io/vectors.hpp"
#include "search/knn/cuda/plan.hpp"
#include "search/knn/tile_turns.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Pinned host memory, from which a GPU copies without the driver's help.
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

// The source of a corpus' vectors.
struct corpus_source {
  std::int64_t count = 0;
  std::int64_t dimension = 0;
  const float* data = nullptr;  // the whole corpus; null if it is not in memory
  // Writes `count` vectors from `first` on to `out`. Called from another thread, one call at a
  // time. corpus_tiles::next throws its exceptions.
  std::function<void(std::int64_t first, std::int64_t count, float* out)> fetch;
};
// `corpus` must outlive the source.
corpus_source in_memory(vector_view corpus);

class corpus_tiles {
 public:
  // If plan.slots is 0, the corpus is resident in one piece and source.data must not be null.
  // Otherwise it passes through that many slots.
  corpus_tiles(backend& place, corpus_source source, metric m, norm_reduction how,
               const knn_plan& plan);
  ~corpus_tiles();
  corpus_tiles(const corpus_tiles&) = delete;
  corpus_tiles& operator=(const corpus_tiles&) = delete;

  bool in_slots() const { return resident_ == nullptr; }
  std::int64_t count() const { return cut_.parts; }
  std::int64_t first(std::int64_t tile) const { return cut_.first(tile); }
  std::int64_t width(std::int64_t tile) const { return cut_.width(tile); }

  // Enqueues norms and images of a corpus in one piece. A call of its own, so that it can be timed.
  // Does nothing for tiles in slots: summarise_tile() serves them.
  void summarise();
  // The whole corpus, in one piece.
  vectors_on_device whole() const { return resident_->view(source_.count); }

  // Goes to the next tile; count() tiles make a pass. Waits until the tile is read, makes the
  // stream wait until it is copied, and starts to bring the tile after it. After summarise_tile()
  // and before close(), work may be enqueued that uses the tile.
  void next();
  std::int64_t tile() const { return now_.tile; }
  // Enqueues norms and images of the tile, unless it has them.
  void summarise_tile();
  vectors_on_device vectors() const;
  void close();

  // The largest weighted square of all tiles opened so far; device memory.
  const float* largest_weighted_square() const;

  // Seconds that the source took, and seconds that next() waited for it.
  double fetch_s() const { return fetch_s_; }
  double wait_s() const { return wait_s_; }

 private:
  struct slot;
  struct staging;

  void load(const tile_turns::turn& what);
  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_->executor().stream); }

  backend* place_;
  corpus_source source_;
  even_cut cut_;
  device_buffer largest_;
  std::unique_ptr<device_vectors> resident_;
  tile_turns turns_;
  tile_turns::turn now_{-1, 0, false};  // none yet
  cudaStream_t copies_ = nullptr;
  std::vector<std::unique_ptr<slot>> slots_;
  std::array<std::unique_ptr<staging>, 2> staging_;
  std::size_t loads_ = 0;
  double fetch_s_ = 0, wait_s_ = 0;
  std::future<double> loading_;  // seconds of the source, for the load started last
};

}  // namespace kselect::search
