#include "runtime/backend/ticks.hpp"

#include <ctime>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace kselect::runtime {
namespace {

constexpr double shortest_ns = 1e6;

// By the kernel, and not by way of any library.
double kernel_ns() {
  timespec now{};
#if defined(__x86_64__)
  long result = SYS_clock_gettime;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(CLOCK_MONOTONIC)), "S"(&now)
               : "rcx", "r11", "memory");
#else
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
#endif
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

bool has_one_rate() {
#if defined(__aarch64__)
  return true;
#else
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("flags")) continue;
    return line.find(" constant_tsc") != std::string::npos &&
           line.find(" nonstop_tsc") != std::string::npos;
  }
  return false;
#endif
}

// Both clocks at one moment.
struct moment {
  double ns;
  std::uint64_t ticks;
};

// The processor may be taken away between two readings, on a busy machine for as long as a tenth of
// a second. So the kernel's clock is read between two readings of the counter, and of some tries
// the one counts whose readings lie closest.
moment both_clocks() {
  constexpr int tries = 8;
  moment best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = processor_ticks();
    const double ns = kernel_ns();
    const std::uint64_t apart = processor_ticks() - before;
    if (apart >= least) continue;
    least = apart;
    best = {ns, before + apart / 2};
  }
  return best;
}

}  // namespace

std::optional<double> nanoseconds_per_tick() {
  static const bool usable = has_one_rate();
  static const moment first = both_clocks();
  if (!usable) return std::nullopt;
  const moment now = both_clocks();
  const double ns = now.ns - first.ns;
  const std::uint64_t ticks = now.ticks - first.ticks;
  return ns < shortest_ns || ticks == 0 ? std::nullopt
                                        : std::optional(ns / static_cast<double>(ticks));
}

}  // namespace kselect::runtime
