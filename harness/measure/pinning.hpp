#pragma once
// Pins each thread of the OpenMP team to its own processor while a CPU algorithm is timed, if the
// system allows it: a thread that migrates finds cold caches. Threads created by other means in the
// meantime inherit their creator's processor, so CPU algorithms use OpenMP.

#include <sched.h>
#include <vector>

namespace kselect::harness {

class pinned_team {
 public:
  explicit pinned_team(int threads);
  ~pinned_team();
  pinned_team(const pinned_team&) = delete;
  pinned_team& operator=(const pinned_team&) = delete;

  // Whether every thread of the team was pinned.
  bool complete() const { return complete_; }

 private:
  int threads_;
  cpu_set_t before_{};
  bool complete_ = false;
};

}  // namespace kselect::harness
