#pragma once
// Queries that threads share, followed by a job_watch.

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

}  // namespace kselect::search::metric_space
