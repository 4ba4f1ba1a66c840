#pragma once
// Queries that threads share, or kernels search in batches, followed by a job_watch.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <omp.h>

#include "runtime/job_watch.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

// Inside a parallel loop nothing may be thrown: a thread that finds stopping() leaves out its
// queries, and end() throws after the loop. The first thread tells the watch.
class watched_queries {
 public:
  explicit watched_queries(job_watch* watch) : watch_(watch) {}

  bool stopping() const { return watch_ != nullptr && watch_->stopping(); }
  void finished_one() {
    if (watch_ == nullptr) return;
    const std::int64_t done = finished_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (omp_get_thread_num() == 0) watch_->reached(done);
  }
  // Throws the watch's error if queries were left out.
  void end(std::int64_t all) const {
    if (watch_ == nullptr) return;
    watch_->reached(finished_);
    if (finished_ < all) watch_->end_if_stopping();
  }

 private:
  job_watch* watch_;
  std::atomic<std::int64_t> finished_ = 0;
};

// How many queries the next batch has. A watched search that was told no number begins with few,
// and doubles it as long as batches end soon: a watch cannot end one under way.
class batch_sizes {
 public:
  // `told`: a number for all batches, or 0.
  batch_sizes(std::int64_t told, bool is_watched) : size_(told), grows_(told == 0 && is_watched) {
    constexpr std::int64_t few = 64;
    if (grows_) size_ = few;
  }
  std::int64_t next(std::int64_t left) const { return size_ == 0 ? left : std::min(size_, left); }
  void took(double seconds) {
    constexpr double soon = 0.1;
    if (grows_ && seconds < soon) size_ *= 2;
  }

 private:
  std::int64_t size_;  // 0: all
  bool grows_;
};

}  // namespace kselect::search::metric_space
