#pragma once
// One page of memory that a worker process shares with its parent: which cell runs now, and since
// when. Writing to it costs nothing and wakes nobody, so it may be done around every timed run; and
// it outlives a worker that crashes.

#include <atomic>
#include <cstdint>

namespace kselect::harness {

class progress_page {
 public:
  // Creates the page (the parent) or maps that of an open descriptor (the worker). Throws
  // error(failure::resources).
  progress_page();
  explicit progress_page(int descriptor);
  ~progress_page();
  progress_page(const progress_page&) = delete;
  progress_page& operator=(const progress_page&) = delete;

  int descriptor() const { return descriptor_; }

  // By the worker. `cell` counts within the group.
  void running(std::int32_t cell);
  void resting();

  // By the parent.
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
