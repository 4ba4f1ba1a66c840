#pragma once
// The times of a fused search's stages, where the executor has a clock.

#include <functional>
#include <optional>

#include "runtime/backend/backend.hpp"
#include "search/knn/fused/knn_by_products.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/cuda/stopwatch.hpp"
#endif

namespace kselect::search::fused {

class stage_times {
 public:
#if KSELECT_HAS_CUDA
  stage_times(const backend& place, bool wanted) {
    if (place.shares_host_memory() || !wanted) return;
    watch_.emplace(static_cast<cudaStream_t>(place.executor().stream), true);
  }
  void time(stage s, const std::function<void()>& work) {
    if (!watch_) return work();
    watch_->time(time_of(s), work);
  }
  // Waits. Since the last call; empty if nothing is timed.
  std::optional<cuda_knn_times> take() {
    if (!watch_) return std::nullopt;
    cuda_knn_times times = watch_->take();
    times.elapsed -= times.prepare;
    return times;
  }

 private:
  std::optional<stopwatch> watch_;
#else
  stage_times(const backend&, bool) {}
  static void time(stage, const std::function<void()>& work) { work(); }
  static std::optional<cuda_knn_times> take() { return std::nullopt; }
#endif
};

}  // namespace kselect::search::fused
