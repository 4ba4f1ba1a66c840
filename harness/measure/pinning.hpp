#pragma once
// Keeps the OpenMP team on processors of its own while a CPU algorithm is timed, where the system
// allows: a thread that is moved finds cold caches. Threads that are created meanwhile by other
// means inherit the creator's processor, so CPU algorithms use OpenMP.

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
