#pragma once
// What an algorithm would launch, without launching it: for whoever explains a choice.

#include <string>
#include <vector>

#include "kselect/simt/types.hpp"

namespace kselect::simt {

struct noted_launch {
  std::string kernel;  // "kselect::my_kernel"
  grid shape;
};

// While one lives, launches of its thread are checked and noted instead of started, and succeed, on
// any executor and in any build. enqueue may then be called without memory behind its buffers, if
// its algorithm does not synchronise: nothing is read or written. One at a time on a thread.
class launch_notes {
 public:
  launch_notes();
  ~launch_notes();
  launch_notes(const launch_notes&) = delete;
  launch_notes& operator=(const launch_notes&) = delete;

  std::vector<noted_launch> launches;
};

}  // namespace kselect::simt
