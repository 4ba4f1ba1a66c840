#pragma once
// A page of memory that a worker process shares with its parent: which cell runs now, and since
// when. A write is an atomic store that wakes nobody, so a worker can write around every timed run.
// The page outlives a worker that crashes.

#include <atomic>
#include <cstdint>

namespace kselect::harness {

class progress_page {
 public:
  // The parent creates the page; the worker maps the page of an open descriptor. Both throw
  // error(failure::resources).
  progress_page();
  explicit progress_page(int descriptor);
  ~progress_page();
  progress_page(const progress_page&) = delete;
  progress_page& operator=(const progress_page&) = delete;

  int descriptor() const { return descriptor_; }

  // Called by the worker. `cell` is a position in the group.
  void running(std::int32_t cell);
  void resting();

  // Called by the parent.
  struct state {
    std::int32_t cell;  // -1: none
    double seconds;     // since it began
  };
  state now() const;

 private:
  struct contents {
    std::atomic<std::int32_t> cell;
    std::atomic<std::int64_t> since_ns;  // steady clock, which all processes share
  };
  void map();

  int descriptor_ = -1;
  contents* shared_ = nullptr;
};

}  // namespace kselect::harness
