#include "harness/measure/pinning.hpp"

#include <omp.h>

namespace kselect::harness {
namespace {

std::vector<int> processors_of(const cpu_set_t& set) {
  std::vector<int> all;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) all.push_back(i);
  }
  return all;
}

}  // namespace

// Pid 0 of sched_setaffinity is the calling thread.
pinned_team::pinned_team(int threads) : threads_(threads) {
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const std::vector<int> processors = processors_of(before_);
  if (static_cast<int>(processors.size()) < threads) return;
  int pinned = 0;
#pragma omp parallel num_threads(threads) reduction(+ : pinned)
  {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(processors[static_cast<std::size_t>(omp_get_thread_num())], &own);
    pinned += sched_setaffinity(0, sizeof own, &own) == 0 ? 1 : 0;
  }
  complete_ = pinned == threads;
}

pinned_team::~pinned_team() {
#pragma omp parallel num_threads(threads_)
  sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace kselect::harness
