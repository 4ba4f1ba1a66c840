#pragma once
// Records the launches of an algorithm without running them, to explain a choice.

#include <string>
#include <vector>

#include "kselect/simt/types.hpp"

namespace kselect::simt {

struct noted_launch {
  std::string kernel;  // "kselect::my_kernel"
  grid shape;
};

// While it lives, launches of its thread are checked and noted, not started, and succeed on any
// executor in any build. For an algorithm that does not synchronise, enqueue may then be called
// with buffers that have no memory: nothing reads or writes them. At most one per thread.
class launch_notes {
 public:
  launch_notes();
  ~launch_notes();
  launch_notes(const launch_notes&) = delete;
  launch_notes& operator=(const launch_notes&) = delete;

  std::vector<noted_launch> launches;
};

}  // namespace kselect::simt
