#pragma once
// Time on the GPU by stage, from events on its stream. A time reaches from a start to a stop, gaps
// included. The host does not wait in between.

#include <vector>

#include "runtime/backend/cuda/call.hpp"
#include "search/knn/knn.hpp"
#include "search/search.hpp"

namespace kselect::search {

class stopwatch {
 public:
  using stage = double cuda_knn_times::*;

  // Does nothing unless it is `on`.
  stopwatch(cudaStream_t stream, bool on) : stream_(stream), on_(on) {}
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    for (const cudaEvent_t event : free_) cudaEventDestroy(event);
    for (const lap& l : laps_) {
      cudaEventDestroy(l.start);
      cudaEventDestroy(l.stop);
    }
  }

  bool on() const { return on_; }

  // Runs `work`, which enqueues, and counts its time to that stage. A call within another counts to
  // the outer stage.
  template <class Work>
  void time(stage of, Work&& work) {
    if (!on_ || within_) return static_cast<void>(work());
    const lap l{of, mark(), mark()};
    laps_.push_back(l);
    require_cuda(cudaEventRecord(l.start, stream_), "cudaEventRecord");
    within_ = true;
    work();
    within_ = false;
    require_cuda(cudaEventRecord(l.stop, stream_), "cudaEventRecord");
  }

  // Waits for the work and returns the times since the last call.
  cuda_knn_times take() {
    cuda_knn_times times;
    if (laps_.empty()) return times;
    require_cuda(cudaEventSynchronize(laps_.back().stop), "cudaEventSynchronize");
    times.elapsed = milliseconds(laps_.front().start, laps_.back().stop);
    for (const lap& l : laps_) {
      times.*l.of += milliseconds(l.start, l.stop);
      free_.push_back(l.start);
      free_.push_back(l.stop);
    }
    times.elapsed -= times.bare_product;
    laps_.clear();
    return times;
  }

 private:
  struct lap {
    stage of;
    cudaEvent_t start, stop;
  };

  static double milliseconds(cudaEvent_t start, cudaEvent_t stop) {
    float passed = 0;
    require_cuda(cudaEventElapsedTime(&passed, start, stop), "cudaEventElapsedTime");
    return passed;
  }

  cudaEvent_t mark() {
    if (free_.empty()) {
      cudaEvent_t event{};
      require_cuda(cudaEventCreate(&event), "cudaEventCreate");
      return event;
    }
    const cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }

  cudaStream_t stream_;
  bool on_;
  bool within_ = false;
  std::vector<cudaEvent_t> free_;
  std::vector<lap> laps_;
};

}  // namespace kselect::search
