#pragma once
// A second clock for host times: the processor's own counter, read by an instruction. An algorithm
// runs in this process and could replace the C library's clock; this one it cannot.

#include <cstdint>
#include <optional>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace kselect::runtime {

// The counter now; 0 on processors of which we know none.
inline std::uint64_t processor_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return 0;
#endif
}

// Measured since the first call. Empty in the first millisecond, and where the counter does not run
// at one rate whatever the processor's clock.
std::optional<double> nanoseconds_per_tick();

}  // namespace kselect::runtime
