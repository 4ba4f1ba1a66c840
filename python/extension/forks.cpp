#include "python/extension/forks.hpp"

#include <pthread.h>

// OpenMP 5.0's, of the library that libkselect.so uses. Weak: an older one in the process lacks it.
extern "C" int omp_pause_resource_all(int kind) __attribute__((weak));

namespace kselect::python {
namespace {

constexpr int pause_soft = 1;  // omp_pause_soft

// Does nothing within a parallel region, whose threads are at work.
void end_threads() {
  if (omp_pause_resource_all != nullptr) static_cast<void>(omp_pause_resource_all(pause_soft));
}

}  // namespace

void end_threads_before_forks() {
  static const int registered = pthread_atfork(&end_threads, nullptr, nullptr);
  static_cast<void>(registered);
}

}  // namespace kselect::python
